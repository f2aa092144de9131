import { log } from "@edge-op/shared/runtime/log";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { holdRecords, type LostChange } from "../held-records/hold-records.ts";
import { type AdminEventRow, fingerprintOf, recordOfRow, toAuditEvent } from "./admin-event-row.ts";
import type { AuditOutbox } from "./audit-outbox.ts";

const batchRows = 100;
const batchesPerRun = 10;
const sweptRows = 500;
const heldAtOnce = 500;
/** D1 can be restored to any time in the last 30 days. */
const rememberMs = 31 * 86_400_000;

interface Cursor {
  readonly seq: number;
  readonly fingerprint: string;
}

/**
 * **Copies the rows of `admin_events` into the audit chain, each exactly once.** A row is written in the D1 transaction of its change. The cursor and
 * the event are one transaction here, so a crash at any step neither repeats nor loses a row. After D1 was restored to an earlier time, new rows get
 * old numbers: the row at the cursor then differs, and the cursor returns to the newest row that is unchanged (ADR 35). The rows that D1 lost are
 * already in the chain, and the records that they changed are held (ADR 11).
 *
 *   admin_relay(id, seq, fingerprint)                              one row: the newest row that was copied
 *   admin_relayed(seq, fingerprint, until_ms, action, kind, id)    the rows that D1 may still return to, with the record to hold if they are lost;
 *                                                                  deleted at until_ms
 */
export class AdminEventCopier {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #database: D1Database;
  readonly #outbox: AuditOutbox;

  readonly #announce: () => Promise<unknown>;

  /** `announce`: brings the records that are held into force. */
  constructor(
    storage: DurableObjectStorage,
    database: D1Database,
    outbox: AuditOutbox,
    announce: () => Promise<unknown> = async () => {},
  ) {
    this.#announce = announce;
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#database = database;
    this.#outbox = outbox;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS admin_relay (
        id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, fingerprint TEXT NOT NULL);
      INSERT OR IGNORE INTO admin_relay VALUES (1, 0, '');
      CREATE TABLE IF NOT EXISTS admin_relayed (
        seq INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, until_ms INTEGER NOT NULL,
        action TEXT NOT NULL, kind TEXT, id TEXT);`);
  }

  get cursor(): Cursor {
    return this.#sql.exec<{ seq: number; fingerprint: string }>("SELECT seq, fingerprint FROM admin_relay").one();
  }

  /** The alarm's task. Returns when it is next due, if rows are left. */
  async run(nowMs: number): Promise<number | undefined> {
    for (let batch = 0; batch < batchesPerRun; batch += 1) {
      const { seq, fingerprint } = this.cursor;
      const [first, ...others] = await this.#rowsFrom(seq);
      if (!isIntact({ seq, fingerprint }, first)) await this.#rewind(nowMs, this.#announce);
      else {
        const rows = seq === 0 && first !== undefined ? [first, ...others] : others;
        this.#copy(rows, nowMs);
        if (rows.length < batchRows) return undefined;
      }
    }
    return nowMs;
  }

  /** To be called before changes of a restored D1 are announced: holds the records whose later changes it has lost. */
  async rewindIfSetBack(nowMs: number): Promise<void> {
    const cursor = this.cursor;
    const [first] = await this.#rowsFrom(cursor.seq, 1);
    if (!isIntact(cursor, first)) await this.#rewind(nowMs, async () => {});
  }

  /** Deletes rows that D1 can no longer return to, oldest first; the row at the cursor is kept. */
  async sweep(passedMs: number): Promise<void> {
    const statement = this.#database
      .prepare(
        `DELETE FROM admin_events WHERE seq IN
           (SELECT seq FROM (SELECT seq, at_ms FROM admin_events WHERE seq < ?1 ORDER BY seq LIMIT ?3) WHERE at_ms < ?2)`,
      )
      .bind(this.cursor.seq, passedMs - rememberMs, sweptRows);
    await queryDatabase(() => statement.run());
    this.#sql.exec(
      "DELETE FROM admin_relayed WHERE seq IN (SELECT seq FROM admin_relayed ORDER BY seq LIMIT ?) AND until_ms <= ?",
      sweptRows,
      passedMs,
    );
  }

  #copy(rows: readonly AdminEventRow[], nowMs: number): void {
    const last = rows.at(-1);
    if (last === undefined) return;
    this.#storage.transactionSync(() => {
      for (const row of rows) {
        const record = recordOfRow(row);
        this.#outbox.append(toAuditEvent(row), row.at_ms);
        this.#sql.exec(
          "INSERT OR REPLACE INTO admin_relayed VALUES (?, ?, ?, ?, ?, ?)",
          row.seq,
          fingerprintOf(row),
          nowMs + rememberMs,
          row.action,
          record?.kind ?? null,
          record?.id ?? null,
        );
      }
      this.#sql.exec("UPDATE admin_relay SET seq = ?, fingerprint = ?", last.seq, fingerprintOf(last));
    });
    for (const { action, target } of rows) if (action === "client.repair") log("client-repaired", { clientId: target });
  }

  /**
   * Finds the newest row that D1 and this object have in common, page by page, holds the records of the later ones, and continues after it. It is
   * repeated as a whole if it fails.
   */
  async #rewind(nowMs: number, announce: () => Promise<unknown>): Promise<void> {
    const { seq: from, fingerprint } = this.cursor;
    const common = await this.#findCommon(from);
    const named = new Set<string>();
    for (let below = from + 1; below > common.seq + 1; ) {
      const lost = this.#lostBelow(below, common.seq);
      const newest = lost.filter(({ kind, id }) => named.size < named.add(JSON.stringify([kind, id])).size);
      await holdRecords(this.#database, newest, nowMs);
      below = lost.length < heldAtOnce ? 0 : lost.at(-1)!.seq;
    }
    await announce();
    // An announcement has done the same meanwhile.
    if (this.cursor.seq !== from || this.cursor.fingerprint !== fingerprint) return;
    this.#storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM admin_relayed WHERE seq > ?", common.seq);
      this.#sql.exec("UPDATE admin_relay SET seq = ?, fingerprint = ?", common.seq, common.fingerprint);
      const payload = { fromSeq: common.seq + 1, toSeq: from };
      this.#outbox.append({ type: "admin-events.set-back", payload }, nowMs);
    });
    log("audit-set-back", { database: "DB", known: from, found: common.seq });
  }

  async #findCommon(from: number): Promise<Cursor> {
    for (let below = from; below > 0; ) {
      const known = this.#sql
        .exec<{ seq: number; fingerprint: string }>(
          "SELECT seq, fingerprint FROM admin_relayed WHERE seq <= ? ORDER BY seq DESC LIMIT ?",
          below,
          batchRows,
        )
        .toArray();
      const lowest = known.at(-1)?.seq;
      const select = this.#database
        .prepare("SELECT * FROM admin_events WHERE seq <= ?1 AND seq >= ?2 ORDER BY seq DESC")
        .bind(below, lowest ?? Math.max(0, below - batchRows));
      const { results } = await queryDatabase(() => select.all<AdminEventRow>());
      // Rows older than those remembered cannot have been lost.
      if (lowest === undefined) return toCursor(results[0] ?? (await this.#newestUpTo(below)));
      const prints = new Map(known.map(({ seq, fingerprint }) => [seq, fingerprint]));
      const common = results.find((row) => prints.get(row.seq) === fingerprintOf(row));
      if (common !== undefined) return toCursor(common);
      below = lowest - 1;
    }
    return toCursor(undefined);
  }

  async #newestUpTo(seq: number): Promise<AdminEventRow | undefined> {
    const select = this.#database
      .prepare("SELECT * FROM admin_events WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1")
      .bind(seq);
    return (await queryDatabase(() => select.first<AdminEventRow>())) ?? undefined;
  }

  /** Newest first, so that a record is held with its newest change. */
  #lostBelow(below: number, common: number): readonly (LostChange & { readonly seq: number })[] {
    return this.#sql
      .exec<LostChange & { readonly seq: number } & Record<string, SqlStorageValue>>(
        `SELECT seq, kind, id, action FROM admin_relayed WHERE seq < ? AND seq > ? AND kind IS NOT NULL
           ORDER BY seq DESC LIMIT ?`,
        below,
        common,
        heldAtOnce,
      )
      .toArray();
  }

  async #rowsFrom(seq: number, count = batchRows + 1): Promise<AdminEventRow[]> {
    const select = this.#database
      .prepare("SELECT * FROM admin_events WHERE seq >= ?1 ORDER BY seq LIMIT ?2")
      .bind(seq, count);
    return (await queryDatabase(() => select.all<AdminEventRow>())).results;
  }
}

function isIntact({ seq, fingerprint }: Cursor, first: AdminEventRow | undefined): boolean {
  return seq === 0 || (first?.seq === seq && fingerprintOf(first) === fingerprint);
}

function toCursor(row: AdminEventRow | undefined): Cursor {
  return row === undefined ? { seq: 0, fingerprint: "" } : { seq: row.seq, fingerprint: fingerprintOf(row) };
}
