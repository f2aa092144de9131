import type { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { ResourceMetadata } from "@edge-op/shared/resources/resource";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { json, text } from "../admin/columns.ts";
import { takenError } from "../admin/taken-ids.ts";
import { VersionedTable } from "../admin/versioned-table.ts";

/** **Resources in D1**: known by their identifiers, and in URLs of the admin API by ids. */
export const resources = new VersionedTable({
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
