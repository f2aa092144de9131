import type { Settings } from "@edge-op/shared/config/settings";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

type Lives = Pick<Settings, "clientUnusedSeconds" | "clientIdleSeconds">;

/** Rows per statement. The deletions of clients that were in use are sent with leases, as every change is. */
export const clientSweep = { unused: 500, idle: 40 } as const;

const unused = `SELECT client_id FROM clients WHERE origin IS NOT NULL AND used_at_ms IS NULL
   AND coalesce(used_at_ms, created_at_ms) <= ?1 ORDER BY coalesce(used_at_ms, created_at_ms) LIMIT ?2`;
const idle = `SELECT client_id FROM clients WHERE origin IS NOT NULL AND used_at_ms IS NOT NULL
   AND coalesce(used_at_ms, created_at_ms) <= ?1 ORDER BY coalesce(used_at_ms, created_at_ms) LIMIT ?2`;

/** For the audit log: the event has no actor. */
const recordOf = (which: string) =>
  `INSERT INTO admin_events (at_ms, action, target, client_id, sub, detail)
     SELECT ?3, 'client.expire', client_id, '', 'sweep', json_object('origin', origin) FROM clients WHERE client_id IN (${which})`;
const announcementOf = (which: string) =>
  `INSERT INTO control_changes (kind, id, at_ms) SELECT 'client', client_id, ?3 FROM clients WHERE client_id IN (${which})`;
const deletionOf = (which: string) => `DELETE FROM clients WHERE client_id IN (${which})`;

export interface SweptClients {
  readonly isDone: boolean;
  /** The log has changes that no shard was sent. */
  readonly needsAnnouncement: boolean;
}

/**
 * **Deletes clients that no administrator registered and that are not in use** (ADR 47), with their consents and grants. A registration that was
 * never used can no longer be agreed to (consent-step.ts) and ends by the clock in every copy, so its deletion is not a change. A registration that
 * was used may be in copies for hours, so its deletion is a change of the log in the same transaction, which the caller announces. Cost: 1 D1 call
 * for each batch.
 */
export async function sweepClients(database: D1Database, lives: Lives, passedMs: number): Promise<SweptClients> {
  const unusedRows = [passedMs - lives.clientUnusedSeconds * 1000, clientSweep.unused] as const;
  const idleRows = [passedMs - lives.clientIdleSeconds * 1000, clientSweep.idle] as const;
  const atMs = nowMs();
  const batch = [
    database.prepare(recordOf(unused)).bind(...unusedRows, atMs),
    database.prepare(deletionOf(unused)).bind(...unusedRows),
    database.prepare(recordOf(idle)).bind(...idleRows, atMs),
    database.prepare(announcementOf(idle)).bind(...idleRows, atMs),
    database.prepare(deletionOf(idle)).bind(...idleRows),
  ];
  const results = await queryDatabase(() => database.batch(batch));
  // The events count what is deleted; a deletion may also count the rows that go with it.
  const [unusedCount = 0, , idleCount = 0] = results.map(({ meta }) => meta.changes);
  return {
    isDone: unusedCount < clientSweep.unused && idleCount < clientSweep.idle,
    needsAnnouncement: idleCount > 0,
  };
}
