import { limits } from "@edge-op/shared/config/limits";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";

const sweptRows = 500;
const sweepsPerRun = 10;

/**
 * **Deletes audit events that are older than the retention, in a deployment without an archive**, from the start of the chain, with bounded
 * statements. In the same transaction, the last deleted event of each shard and of the chain becomes an anchor, so that the rest can be verified. An
 * event is deleted only after all earlier ones; the newest one is always kept. Returns whether more is to be deleted now.
 */
export async function sweepAuditLog(database: D1Database, beforeMs: number): Promise<boolean> {
  for (let sweep = 0; sweep < sweepsPerRun; sweep += 1) {
    const last = await lastToDelete(database, beforeMs);
    if (last === undefined) return false;
    await queryAuditDatabase(
      () =>
        database.batch([
          database
            .prepare(
              `INSERT INTO audit_anchors (shard, seq, hash)
                 SELECT shard, max(seq), hash FROM audit_events WHERE position <= ?1 GROUP BY shard
                 ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq, hash = excluded.hash WHERE excluded.seq > seq`,
            )
            .bind(last),
          database
            .prepare(
              `INSERT INTO audit_anchors (shard, seq, hash) SELECT '', position, chain FROM audit_events WHERE position = ?1
                 ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`,
            )
            .bind(last),
          database.prepare("DELETE FROM audit_events WHERE position <= ?1").bind(last),
        ]),
      limits.databaseCommitMs,
    );
  }
  return true;
}

async function lastToDelete(database: D1Database, beforeMs: number): Promise<number | undefined> {
  const select = database
    .prepare(
      `WITH oldest AS (SELECT position, at_ms FROM audit_events ORDER BY position LIMIT ?2 + 1),
         kept AS (SELECT coalesce((SELECT min(position) FROM oldest WHERE at_ms >= ?1), (SELECT max(position) FROM oldest)) AS first)
       SELECT max(position) AS position FROM oldest WHERE position < (SELECT first FROM kept)`,
    )
    .bind(beforeMs, sweptRows);
  const row = await queryAuditDatabase(() => select.first<{ position: number | null }>());
  return row?.position ?? undefined;
}
