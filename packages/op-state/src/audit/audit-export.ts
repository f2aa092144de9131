import { eventColumns, type StoredEvent } from "@edge-op/shared/audit/audit-event";
import { limits } from "@edge-op/shared/config/limits";
import { within } from "@edge-op/shared/runtime/deadline";
import { log } from "@edge-op/shared/runtime/log";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";

const objectEvents = 1_000;
/** A part that is not full is exported when its first event is as old as this. */
const partAgeMs = 3_600_000;
const objectsPerRun = 3;
/** Longer than any retention: exports are remembered to find the newest one that matches a restored database. */
const rememberedExports = 100_000;

/**
 * **Exports the audit log to R2**: objects of NDJSON, a line per event with its hashes, in the order of the chain, so each file can be verified by
 * itself and continues the one before. The key is `audit/{epoch}/{day}/{first position}.ndjson`: writing a part again after a crash replaces it.
 * Retention deletes only exported events. Without the binding, nothing is exported.
 *
 *   audit_exports(from_position, to_position, chain)      the newest 100,000
 */
export class AuditExport {
  readonly #sql: SqlStorage;
  readonly #database: D1Database;
  readonly #bucket: R2Bucket | undefined;

  constructor(storage: DurableObjectStorage, database: D1Database, bucket: R2Bucket | undefined) {
    this.#sql = storage.sql;
    this.#database = database;
    this.#bucket = bucket;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS audit_exports (
        from_position INTEGER PRIMARY KEY, to_position INTEGER NOT NULL, chain TEXT NOT NULL);`);
  }

  /** The last exported position; `undefined` if nothing is exported in this deployment. */
  get position(): number | undefined {
    if (this.#bucket === undefined) return undefined;
    return this.#sql
      .exec<{ position: number }>("SELECT coalesce(max(to_position), 0) AS position FROM audit_exports")
      .one().position;
  }

  /** After the database was restored: forgets exports that do not match it, so that its new history is exported too. */
  async rewind(): Promise<void> {
    for (;;) {
      const [last] = this.#sql
        .exec<{ to: number; chain: string }>(
          "SELECT to_position AS 'to', chain FROM audit_exports ORDER BY from_position DESC LIMIT 1",
        )
        .toArray();
      if (last === undefined) return;
      const select = this.#database
        .prepare(
          `SELECT lower(hex(chain)) AS chain FROM audit_events WHERE position = ?1
           UNION ALL SELECT iif(seq = ?1, lower(hex(hash)), ?2) FROM audit_anchors WHERE shard = '' AND seq >= ?1`,
        )
        .bind(last.to, last.chain);
      const { results } = await queryAuditDatabase(() => select.all<{ chain: string }>());
      if (results.some(({ chain }) => chain === last.chain)) return;
      this.#sql.exec("DELETE FROM audit_exports WHERE to_position = ?", last.to);
    }
  }

  /** Returns whether more is to be exported now. */
  async run(nowMs: number, epoch: number): Promise<boolean> {
    const bucket = this.#bucket;
    if (bucket === undefined) return false;
    for (let written = 0; written < objectsPerRun; written += 1) {
      const events = await this.#read(this.position ?? 0);
      const first = events[0];
      if (first === undefined || (events.length < objectEvents && nowMs < first.atMs + partAgeMs)) return false;
      if (!(await put(bucket, keyOf(first, epoch), events))) return false;
      const last = events.at(-1)!;
      this.#sql.exec(
        "INSERT OR REPLACE INTO audit_exports VALUES (?, ?, ?)",
        first.position,
        last.position,
        last.chain,
      );
      this.#sql.exec(
        `DELETE FROM audit_exports WHERE from_position <=
           (SELECT from_position FROM audit_exports ORDER BY from_position DESC LIMIT 1 OFFSET ?)`,
        rememberedExports,
      );
    }
    return true;
  }

  async #read(after: number): Promise<StoredEvent[]> {
    const select = this.#database
      .prepare(`SELECT ${eventColumns} FROM audit_events e WHERE e.position > ?1 ORDER BY e.position LIMIT ?2`)
      .bind(after, objectEvents);
    return (await queryAuditDatabase(() => select.all<StoredEvent>())).results;
  }
}

function keyOf({ position, atMs }: StoredEvent, epoch: number): string {
  return `audit/${epoch}/${new Date(atMs).toISOString().slice(0, 10)}/${String(position).padStart(12, "0")}.ndjson`;
}

/** A failing bucket only delays the export and the retention. */
async function put(bucket: R2Bucket, key: string, events: readonly StoredEvent[]): Promise<boolean> {
  const lines = events.map(({ payload, ...event }) => JSON.stringify({ ...event, payload: JSON.parse(payload) }));
  const last = events.at(-1)!;
  const options = {
    httpMetadata: { contentType: "application/x-ndjson" },
    customMetadata: { position: String(last.position), chain: last.chain },
  };
  try {
    await within(limits.databaseCommitMs, bucket.put(key, `${lines.join("\n")}\n`, options), () => {
      throw new Error(`no response within ${limits.databaseCommitMs} ms`);
    });
    return true;
  } catch (cause) {
    log("audit-export-failed", { key, cause: String(cause) });
    return false;
  }
}
