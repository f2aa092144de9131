/**
 * **Requests and responses of `/admin/resources`**: an API or MCP server for which tokens are issued.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */

import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type { FieldError, OAuthError } from "@edge-op/protocol/oauth/errors";
import { administrativeAudiences } from "@edge-op/protocol/oauth/scope";
import { isUriWithoutFragment } from "@edge-op/protocol/oauth/uris";
import { invalidFields, requireValid } from "@edge-op/shared/http/require-valid";
import type { ResourceMetadata } from "@edge-op/shared/resources/resource";
import { resourceMetadataSchema } from "@edge-op/shared/resources/resource-schema";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import * as z from "zod";
import { json, text } from "../admin/columns.ts";
import { defineRecordRoutes } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { takenError } from "../admin/taken-ids.ts";
import { VersionedTable } from "../admin/versioned-table.ts";

const resourceIdPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;
/** A KV key has at most 512 bytes, and a record id 255 characters. */
const longestIdentifier = 255;
const resourceCreateSchema = resourceMetadataSchema
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

const resourceSchema = resourceMetadataSchema
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
function identifierFaults(identifier: string, issuer: string): FieldError[] {
  const { origin, path } = comparable(identifier);
  const own = comparable(issuer);
  const below = administrativeAudiences(issuer).map((audience) => comparable(audience).path);
  const isAdministrative = below.some((each) => path === each || path.startsWith(`${each}/`));
  const isOwn = origin === own.origin && (path === own.path || isAdministrative);
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

/** **Resources in D1**: known by their identifiers, and in URLs of the admin API by ids. */
const resources = new VersionedTable({
  name: "resources",
  noun: "resource",
  members: {
    identifier: text("identifier"),
    resourceId: text("resource_id"),
    metadata: json<ResourceMetadata>("metadata"),
  },
  key: "resourceId",
  order: "identifier",
  document: "metadata",
  missing: "resource-not-found",
  forget: ({ identifier }) => [{ kind: "resource", id: identifier }],
  event: ({ identifier, resourceId }) => ({ target: identifier, detail: { resource_id: resourceId } }),
  findTaken: async (database, resource, known) => (known === undefined ? findTaken(database, resource) : undefined),
});

async function findTaken(
  database: D1Database,
  { resourceId, identifier }: { readonly resourceId: string; readonly identifier: string },
): Promise<OAuthError | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare("SELECT identifier FROM resources WHERE identifier = ?1 OR resource_id = ?2 LIMIT 1")
      .bind(identifier, resourceId)
      .first<{ readonly identifier: string }>(),
  );
  return row === null ? undefined : takenError(row.identifier === identifier ? "identifier" : "resource_id");
}

/**
 * **`/admin/resources`**: which clients may request tokens for an API, with which scopes, and the properties of these tokens (ADR 45). A change is in
 * force everywhere when the call returns; existing tokens do not change. Cost: a read 1 D1; a change 2 D1 and a round of the control plane.
 */
export const resourceRoutes: readonly AdminRoute[] = defineRecordRoutes({
  table: resources,
  key: "resource_id",
  scope: "admin:clients",
  summaries: {
    create: "Registers an API for which tokens are issued. In force everywhere when the call returns.",
    list: "Lists resources in the order of their identifiers, a page at a time.",
    read: "Shows a resource.",
    update:
      "Changes a resource by JSON Merge Patch: members that are not named are kept, null removes a member. In force everywhere when the call returns. Existing tokens do not change.",
    remove:
      "Deletes a resource: no more tokens are issued by its rule. Existing tokens remain valid until they expire.",
  },
  writable: resourceMetadataSchema,
  createBody: resourceCreateSchema,
  shown: resourceSchema,
  conditions: {
    identifier: {
      schema: resourceSchema.shape.identifier.max(255).optional().describe("A resource's identifier."),
      column: "identifier",
      match: "exact",
    },
  },
  show: ({ resourceId, identifier, metadata, createdAtMs, updatedAtMs }) => ({
    resource_id: resourceId,
    identifier,
    created_at: toSeconds(createdAtMs),
    updated_at: toSeconds(updatedAtMs),
    ...metadata,
  }),
  async create(call) {
    const { identifier, resource_id: resourceId = `r${randomBase64Url(12)}`, ...metadata } = call.body;
    const faults = identifierFaults(identifier, call.context.settings.issuer);
    if (faults.length > 0) throw invalidFields(faults);
    const atMs = nowMs();
    const record = { resourceId, identifier, metadata, createdAtMs: atMs, updatedAtMs: atMs };
    await resources.create(call, record, { forget: [{ kind: "resource", id: identifier }] });
    return { record };
  },
  patch:
    ({ body }) =>
    async ({ metadata }) => {
      const { merged, keepOthers } = patchStored(resourceMetadataSchema, { ...metadata }, body);
      return { changed: { metadata: keepOthers(requireValid(resourceMetadataSchema, merged)) } };
    },
});
