import { signingAlgorithms } from "@edge-op/protocol/jwt/signing-algorithms";
import { adminAudience, isAdminScope } from "@edge-op/protocol/oauth/admin-scope";
import type { FieldError } from "@edge-op/protocol/oauth/errors";
import { rbacScopes, scopeClaims } from "@edge-op/protocol/oauth/scope-claims";
import { isUriWithoutFragment } from "@edge-op/protocol/oauth/uris";
import { visibleText } from "@edge-op/shared/http/plain-text";
import type { ResourceMetadata } from "@edge-op/shared/resources/resource";
import * as z from "zod";
import { mergePatchOf } from "../admin/merge-patch.ts";
import { nextCursor, pageQuery } from "../admin/paging.ts";

/**
 * **Requests and responses of `/admin/resources`**: an API or MCP server that tokens are for.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */
const resourceIdPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;
/** A key of KV has 512 bytes, and ids of records 255 characters. */
const longestIdentifier = 255;
const mostScopes = 100;
const mostClients = 100;

/** Their meaning, and the words at consent, are this provider's own. */
const reservedScopes: readonly string[] = ["openid", "offline_access", ...Object.keys(scopeClaims), ...rbacScopes];

const scopeSchema = z
  .strictObject({
    value: z
      .string()
      .max(256)
      .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be a scope value (RFC 6749, section 3.3)")
      .refine((value) => !isAdminScope(value) && !reservedScopes.includes(value), "is a scope value of this provider"),
    description: visibleText(200).describe("As people read it at consent."),
    default: z.boolean().optional().describe("Part of a request that names the resource and no scope."),
  })
  .meta({ id: "ResourceScope" });

const members = {
  name: visibleText(100).describe("As people read it at consent."),
  scopes: z
    .array(scopeSchema)
    .max(mostScopes)
    .refine((scopes) => new Set(scopes.map(({ value }) => value)).size === scopes.length, "must not repeat a value")
    .default([])
    .describe("The scope values that it understands."),
  clients: z
    .union([z.enum(["registered", "any"]), z.array(z.string().min(1).max(longestIdentifier)).max(mostClients)])
    .default([])
    .describe(
      "Who may request its tokens: `registered` (every registered client), `any` (also clients known by their metadata document alone), or a list of `client_id`s. Clients whose `audiences` name it may do so besides.",
    ),
  access_token_lifetime: z
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe("Seconds; the shorter of this and the client's."),
  access_token_signed_response_alg: z.enum(signingAlgorithms).optional().describe("Signature of its tokens."),
  bound_tokens_required: z
    .boolean()
    .optional()
    .describe("Its tokens are issued only to a key that the request proves."),
} satisfies Record<keyof ResourceMetadata, z.ZodType>;

export const resourceMetadataSchema = z.strictObject(members);

export const resourceCreateSchema = resourceMetadataSchema
  .extend({
    identifier: z
      .string()
      .max(longestIdentifier)
      .refine(isUriWithoutFragment, "must be an absolute URI without fragment")
      .meta({ format: "uri" })
      .describe("The value of `resource` and `aud`, path included. It cannot be changed."),
    resource_id: z
      .string()
      .regex(resourceIdPattern, "must be 1 to 64 letters, digits, dots, hyphens, underscores or tildes")
      .optional()
      .describe("Chosen by the server unless given."),
  })
  .meta({ id: "ResourceCreate" });

export const resourcePatchSchema = mergePatchOf(resourceMetadataSchema).meta({ id: "ResourcePatch" });

export const resourceSchema = resourceMetadataSchema
  .extend({
    resource_id: z.string(),
    identifier: z.string(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({ id: "Resource" });

export const resourceListSchema = z
  .strictObject({ resources: z.array(resourceSchema), next_cursor: nextCursor })
  .meta({ id: "ResourceList" });

export const resourceListQuery = pageQuery.extend({ identifier: z.string().max(longestIdentifier).optional() });

/** This provider is its own resource, however its URL is spelled; `"*"` is no identifier. */
export function identifierFaults(identifier: string, issuer: string): FieldError[] {
  const { origin, path } = comparable(identifier);
  const own = comparable(issuer);
  const admin = comparable(adminAudience(issuer)).path;
  const isOwn = origin === own.origin && (path === own.path || path === admin || path.startsWith(`${admin}/`));
  return isOwn ? [{ path: "identifier", message: "is this provider itself" }] : [];
}

/**
 * RFC 3986 §6.2.2 and §6.2.3: the case of scheme and host, a default port, dot segments and percent-encoding make no other URL, and neither
 * does the dot that ends an absolute domain name. The query does not select another party.
 */
function comparable(url: string): { readonly origin: string; readonly path: string } {
  const { protocol, hostname, port, pathname } = new URL(url);
  const decoded = pathname.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes.toUpperCase();
    }
  });
  return { origin: `${protocol}//${hostname.replace(/\.+$/, "")}:${port}`, path: decoded.replace(/\/+$/, "") };
}
