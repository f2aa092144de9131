import type { AuditMessage } from "@edge-op/shared/audit/audit-event";
import type { AuditDatabases } from "@edge-op/shared/audit-log/log-rows";
import { queryAuditDatabase } from "@edge-op/shared/audit-log/query-audit-database";
import { writeEvents } from "@edge-op/shared/audit-log/write-events";
import { queryDatabase } from "@edge-op/shared/cache/query-database";

const movedRows = 100;
const batchesPerRun = 5;

interface GapRow {
  readonly shard: string;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly recorded_at_ms: number;
}

/**
 * **Moves the audit log of earlier releases out of the control database**, oldest events first: each batch is written to the audit
 * database, and then deleted. A crash in between repeats a batch, and a stored event is nothing new. An event of a consumer of an
 * earlier release, which still writes there during an upgrade, is moved too. Returns whether more is to be moved now.
 */
export async function moveEarlierLog(databases: AuditDatabases, nowMs: number): Promise<boolean> {
  const { DB } = databases;
  for (let batch = 0; batch < batchesPerRun; batch += 1) {
    const select = DB.prepare(
      "SELECT shard, seq, at_ms AS atMs, type, payload, previous, hash FROM audit_events ORDER BY at_ms, shard, seq LIMIT ?1",
    ).bind(movedRows);
    const { results } = await queryDatabase(() => select.all<AuditMessage>());
    if (results.length === 0) {
      await moveGaps(databases);
      return false;
    }
    await writeEvents(databases, results, nowMs, { isMove: true });
    const remove = DB.prepare(
      `DELETE FROM audit_events WHERE (shard, seq) IN
         (SELECT value ->> '$.shard', value ->> '$.seq' FROM json_each(?1))`,
    ).bind(JSON.stringify(results.map(({ shard, seq }) => ({ shard, seq }))));
    await queryDatabase(() => remove.run());
  }
  return true;
}

async function moveGaps({ DB, AUDIT_DB }: AuditDatabases): Promise<void> {
  const select = DB.prepare("SELECT * FROM audit_gaps LIMIT ?1").bind(movedRows);
  const { results } = await queryDatabase(() => select.all<GapRow>());
  if (results.length === 0) return;
  const insert = AUDIT_DB.prepare(
    `INSERT OR IGNORE INTO audit_gaps (shard, from_seq, to_seq, recorded_at_ms)
       SELECT value ->> '$.shard', value ->> '$.from_seq', value ->> '$.to_seq', value ->> '$.recorded_at_ms'
         FROM json_each(?1)`,
  ).bind(JSON.stringify(results));
  await queryAuditDatabase(() => insert.run());
  const remove = DB.prepare(
    `DELETE FROM audit_gaps WHERE (shard, from_seq) IN
       (SELECT value ->> '$.shard', value ->> '$.from_seq' FROM json_each(?1))`,
  ).bind(JSON.stringify(results));
  await queryDatabase(() => remove.run());
}
