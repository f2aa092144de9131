/**
 * **Requests and responses of `/admin/resources`**: an API or MCP server for which tokens are issued.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */

import type { FieldError } from "@edge-op/protocol/oauth/errors";
import { adminAudience } from "@edge-op/protocol/oauth/scope";
import { isUriWithoutFragment } from "@edge-op/protocol/oauth/uris";
import { resourceMetadataSchema } from "@edge-op/shared/resources/resource-schema";
import * as z from "zod";

const resourceIdPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;
/** A KV key has at most 512 bytes, and a record id 255 characters. */
const longestIdentifier = 255;
export const resourceCreateSchema = resourceMetadataSchema
  .extend({
    identifier: z
      .string()
      .max(longestIdentifier)
      .refine(isUriWithoutFragment, "must be an absolute URI without a fragment")
      .meta({ format: "uri" })
      .describe("The value of `resource` and `aud`, path included. It cannot be changed."),
    resource_id: z
      .string()
      .regex(resourceIdPattern, "must be 1 to 64 letters, digits, dots, hyphens, underscores or tildes")
      .optional()
      .describe("Chosen by the server unless given."),
  })
  .meta({ id: "ResourceCreate" });

export const resourceSchema = resourceMetadataSchema
  .extend({
    resource_id: z.string(),
    identifier: z.string(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({
    id: "Resource",
    examples: [
      {
        ...{ resource_id: "photos-api", identifier: "https://api.example.com", name: "Photos API" },
        ...{ scopes: [{ value: "photos:read", description: "See your photos" }], clients: "any" },
        ...{ created_at: 1795000000, updated_at: 1795000000 },
      },
    ],
  });

/** This provider is its own resource, however its URL is spelled; `"*"` is not an identifier. */
export function identifierFaults(identifier: string, issuer: string): FieldError[] {
  const { origin, path } = comparable(identifier);
  const own = comparable(issuer);
  const admin = comparable(adminAudience(issuer)).path;
  const isOwn = origin === own.origin && (path === own.path || path === admin || path.startsWith(`${admin}/`));
  return isOwn ? [{ path: "identifier", message: "is this provider itself" }] : [];
}

/**
 * RFC 3986 §6.2.2 and §6.2.3: the case of scheme and host, a default port, dot segments and percent-encoding do not make another URL, and neither
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
