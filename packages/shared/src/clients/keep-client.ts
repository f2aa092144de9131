import { recordAdminEvent } from "../audit-log/admin-event.ts";
import type { Client } from "../directory/client.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type ControlPlaneBindings, commitControlChange } from "../revocation/commit-control-change.ts";

/**
 * **Keeps a client that a person agrees to for the first time**: a client of a metadata document gets its row, without which no consent and no token can
 * exist; one that registered itself is now in use. Before that, nothing is stored for a document. Cost: nothing, and once for a
 * client 1 D1 and a round of the control plane: every isolate must know at once.
 */
export async function keepClient(
  context: RequestContext<ControlPlaneBindings>,
  client: Client,
  sub: string,
): Promise<void> {
  const { clientId, origin, usedAtMs, createdAtMs } = client;
  if (origin === undefined || usedAtMs !== undefined) return;
  const database = context.env.DB;
  const atMs = context.arrivedAtMs;
  const isNew = origin === "document" && createdAtMs === undefined;
  const statement = isNew
    ? insertDocument(database, client, atMs)
    : database.prepare("UPDATE clients SET used_at_ms = ?2 WHERE client_id = ?1").bind(clientId, atMs);
  const detail = { origin };
  const event = recordAdminEvent(
    context,
    { action: "client.use", target: clientId, clientId, actor: sub, detail },
    { ifChanged: true },
  );
  await commitControlChange(context, [statement, event], [{ kind: "client", id: clientId }]);
}

/** Another request may have inserted it meanwhile. Fails when a user has the id: metadata may not be NULL. */
function insertDocument(
  database: D1Database,
  { clientId, metadata, freshUntilMs }: Client,
  atMs: number,
): D1PreparedStatement {
  return database
    .prepare(
      `INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms, origin, fresh_until_ms, used_at_ms)
         VALUES (?1, iif(EXISTS (SELECT 1 FROM users WHERE sub = ?1), NULL, ?2), ?3, ?3, 'document', ?4, ?3)
         ON CONFLICT (client_id) DO NOTHING`,
    )
    .bind(clientId, JSON.stringify(metadata), atMs, freshUntilMs ?? 0);
}
