import { type ChainHead, selectHead } from "@edge-op/shared/audit/audit-event";
import { log } from "@edge-op/shared/runtime/log";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import type { AuditOutbox } from "./audit-outbox.ts";

/**
 * **Detects that the audit database was restored to an earlier time**, or that the end of the chain was deleted: the newest position seen is missing
 * or has another chain value. This is recorded in the chain itself, and the epoch, which separates the exports of both histories, is raised. Each
 * shard's lost events become a gap when its next event is written (ADR 35).
 *
 *   audit_head(id, position, chain, epoch)     one row: the newest position that was seen
 */
export class AuditChainWatch {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #database: D1Database;
  readonly #outbox: AuditOutbox;

  constructor(storage: DurableObjectStorage, database: D1Database, outbox: AuditOutbox) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#database = database;
    this.#outbox = outbox;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS audit_head (
        id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, chain TEXT NOT NULL, epoch INTEGER NOT NULL);
      INSERT OR IGNORE INTO audit_head VALUES (1, 0, '', 0);`);
  }

  get known(): ChainHead & { readonly epoch: number } {
    return this.#sql
      .exec<{ position: number; chain: string; epoch: number }>("SELECT position, chain, epoch FROM audit_head")
      .one();
  }

  /** Reads the end of the chain. Returns whether the database has lost a part that was seen earlier. */
  async look(nowMs: number): Promise<boolean> {
    const known = this.known;
    const [atKnown, head] = await queryAuditDatabase(() =>
      this.#database.batch<{ chain: string } & ChainHead>([
        this.#database
          .prepare(
            `SELECT lower(hex(chain)) AS chain FROM audit_events WHERE position = ?1
             UNION ALL SELECT iif(seq = ?1, lower(hex(hash)), ?2) FROM audit_anchors WHERE shard = '' AND seq >= ?1`,
          )
          .bind(known.position, known.chain),
        this.#database.prepare(selectHead),
      ]),
    );
    const found = head!.results[0] ?? { position: 0, chain: "" };
    const isLost = known.position > 0 && !atKnown!.results.some(({ chain }) => chain === known.chain);
    this.#storage.transactionSync(() => {
      this.#sql.exec(
        "UPDATE audit_head SET position = ?, chain = ?, epoch = epoch + ?",
        found.position,
        found.chain,
        isLost ? 1 : 0,
      );
      if (!isLost) return;
      const payload = { position: known.position, chain: known.chain, foundPosition: found.position };
      this.#outbox.append({ type: "audit.set-back", payload }, nowMs);
    });
    if (isLost) log("audit-set-back", { database: "AUDIT_DB", known: known.position, found: found.position });
    return isLost;
  }
}
