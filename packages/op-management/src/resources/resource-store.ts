import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { ResourceMetadata } from "@edge-op/shared/resources/resource";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** **Resources in D1, read and written for changes**: always the authority, never a cache. */
export interface StoredResource {
  readonly resourceId: string;
  readonly identifier: string;
  readonly metadata: ResourceMetadata;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

interface ResourceRow {
  readonly resource_id: string;
  readonly identifier: string;
  readonly metadata: string;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
}

const columns = "identifier, resource_id, metadata, created_at_ms, updated_at_ms";

function toResource(row: ResourceRow): StoredResource {
  return {
    resourceId: row.resource_id,
    identifier: row.identifier,
    metadata: JSON.parse(row.metadata) as ResourceMetadata,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}

export async function requireResource(database: D1Database, resourceId: string): Promise<StoredResource> {
  const row = await queryDatabase(() =>
    database.prepare(`SELECT ${columns} FROM resources WHERE resource_id = ?1`).bind(resourceId).first<ResourceRow>(),
  );
  if (row === null) throw new OAuthError("not_found", "resource-not-found");
  return toResource(row);
}

/** The member that another resource has. */
export async function findTaken(
  database: D1Database,
  { resourceId, identifier }: Pick<StoredResource, "resourceId" | "identifier">,
): Promise<"identifier" | "resource_id" | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare("SELECT identifier FROM resources WHERE identifier = ?1 OR resource_id = ?2 LIMIT 1")
      .bind(identifier, resourceId)
      .first<{ readonly identifier: string }>(),
  );
  if (row === null) return undefined;
  return row.identifier === identifier ? "identifier" : "resource_id";
}

/** The resources after an identifier, in the order of identifiers; the one of a given identifier. */
export async function listResources(
  database: D1Database,
  after: string,
  count: number,
  identifier: string | undefined,
): Promise<StoredResource[]> {
  const { results } = await queryDatabase(() =>
    database
      .prepare(
        `SELECT ${columns} FROM resources WHERE identifier > ?1 AND (?2 IS NULL OR identifier = ?2) ORDER BY identifier LIMIT ?3`,
      )
      .bind(after, identifier ?? null, count)
      .all<ResourceRow>(),
  );
  return results.map(toResource);
}

export function insertResource(database: D1Database, resource: StoredResource): D1PreparedStatement {
  const { identifier, resourceId, metadata, createdAtMs, updatedAtMs } = resource;
  return database
    .prepare(`INSERT INTO resources (${columns}) VALUES (?1, ?2, ?3, ?4, ?5)`)
    .bind(identifier, resourceId, JSON.stringify(metadata), createdAtMs, updatedAtMs);
}

/** Fails, and with it its transaction, when the version is no longer `expected`: metadata may not be NULL. */
export function updateResource(database: D1Database, resource: StoredResource, expected: number): D1PreparedStatement {
  return database
    .prepare(
      "UPDATE resources SET metadata = iif(updated_at_ms = ?4, ?2, NULL), updated_at_ms = ?3 WHERE identifier = ?1",
    )
    .bind(resource.identifier, JSON.stringify(resource.metadata), resource.updatedAtMs, expected);
}

export function deleteResource(database: D1Database, identifier: string): D1PreparedStatement {
  return database.prepare("DELETE FROM resources WHERE identifier = ?1").bind(identifier);
}
