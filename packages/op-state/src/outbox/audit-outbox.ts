import { type AuditMessage, canonicalJson, chainStart, chainText } from "@edge-op/shared/audit/audit-event";
import { queryDatabase } from "@edge-op/shared/cache/query-database";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { AlarmSchedule } from "./alarm-schedule.ts";

export interface AuditBindings {
  readonly AUDIT_QUEUE: Queue;
  readonly DB: D1Database;
}

/** Events gather this long before they are sent, so that a busy object sends batches. */
const gatherMs = 1_000;
/** The consumer's batch waits up to 5 s; then the watermark in D1 should have moved. */
const checkMs = 15_000;
/** What is still above the watermark after this was lost on the way and is sent again (A2). */
const resendMs = 60_000;
/** A Queue's batch holds 100 messages and 256 KB, one message 128 KB at most. */
const batchMessages = 100;
const batchCharacters = 80_000;
/** Owners write ids and reasons, never what a caller sends at length; a larger payload could not be sent at all. */
const payloadCharacters = 30_000;
const batchesPerFlush = 10;

/**
 * **Keeps an object's audit events until D1 has them** (docs/reference/protocols.md §5). `append` belongs inside the owner's
 * `transactionSync`: the change and its event are one commit (A1). The owner's alarm runs `flush`; no request waits (A4).
 *
 *   audit_outbox(seq, at_ms, type, payload, previous, hash)   a row dies below D1's watermark; the newest stays as the chain's anchor
 *   audit_cursor(sent_seq, acknowledged_seq, resend_at_ms)    one row
 *   audit_name(name)                                          one row: the object's name, which the hashes of its events include
 */
export class AuditOutbox {
  readonly #sql: SqlStorage;
  readonly #env: AuditBindings;
  /** An alarm may start an instance that is not told its name: a chain under another name would be a second one. */
  readonly #name: string | undefined;
  readonly #alarms: AlarmSchedule;
  #checkAtMs = 0;

  constructor(ctx: DurableObjectState, env: AuditBindings, name: string | undefined, alarms: AlarmSchedule) {
    this.#sql = ctx.storage.sql;
    this.#env = env;
    this.#alarms = alarms;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS audit_outbox (
        seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL,
        previous TEXT NOT NULL, hash TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS audit_cursor (
        id INTEGER PRIMARY KEY CHECK (id = 1), sent_seq INTEGER NOT NULL, acknowledged_seq INTEGER NOT NULL,
        resend_at_ms INTEGER NOT NULL);
      INSERT OR IGNORE INTO audit_cursor VALUES (1, 0, 0, 0);
      CREATE TABLE IF NOT EXISTS audit_name (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL);`);
    if (name !== undefined) this.#sql.exec("INSERT OR IGNORE INTO audit_name VALUES (1, ?)", name);
    this.#name = this.#sql.exec<{ name: string }>("SELECT name FROM audit_name").toArray()[0]?.name;
  }

  /** Adds an event to the chain. Synchronous: call it in the transaction that makes the change. */
  append(event: { readonly type: string; readonly payload: Readonly<Record<string, unknown>> }, atMs: number): void {
    if (this.#name === undefined) throw new Error("an event cannot be chained before the object knows its name");
    const head = this.#head();
    const link = {
      shard: this.#name,
      seq: head.seq + 1,
      atMs,
      type: event.type,
      payload: boundedPayload(event.payload),
      previous: head.hash,
    };
    const hash = hashText(chainText(link));
    this.#sql.exec(
      "INSERT INTO audit_outbox (seq, at_ms, type, payload, previous, hash) VALUES (?, ?, ?, ?, ?, ?)",
      link.seq,
      atMs,
      link.type,
      link.payload,
      link.previous,
      hash,
    );
    this.#alarms.wakeBy(atMs + gatherMs);
  }

  /** Sends what is new, forgets what D1 has, sends again what got lost. Answers when it wants to run next. */
  async flush(nowMs: number): Promise<number | undefined> {
    // Of a version before `audit_name`, and no request has come since: the next one brings the name.
    if (this.#name === undefined) return this.#head().seq === 0 ? undefined : nowMs + resendMs;
    if (this.#inFlight() && nowMs >= this.#checkAtMs) await this.#acknowledge(nowMs);
    for (let batch = 0; batch < batchesPerFlush; batch += 1) {
      const events = this.#unsent(this.#name);
      const last = events.at(-1);
      if (last === undefined) return this.#inFlight() ? this.#checkAtMs : undefined;
      await this.#env.AUDIT_QUEUE.sendBatch(events.map((body) => ({ body })));
      // Both times count from the first event in flight: a steady stream must not put them off.
      if (!this.#inFlight()) {
        this.#checkAtMs = nowMs + checkMs;
        this.#sql.exec("UPDATE audit_cursor SET resend_at_ms = ?", nowMs + resendMs);
      }
      this.#sql.exec("UPDATE audit_cursor SET sent_seq = max(sent_seq, ?)", last.seq);
    }
    return nowMs + gatherMs;
  }

  async #acknowledge(nowMs: number): Promise<void> {
    const select = this.#env.DB.prepare("SELECT seq FROM audit_watermarks WHERE shard = ?1").bind(this.#name);
    const row = await queryDatabase(() => select.first<{ seq: number }>());
    this.#checkAtMs = nowMs + checkMs;
    const { acknowledgedSeq, resendAtMs } = this.#cursor();
    // Only what exists here can be acknowledged, whatever D1 says.
    const watermark = Math.min(row?.seq ?? 0, this.#head().seq);
    if (watermark > acknowledgedSeq) {
      this.#sql.exec("UPDATE audit_cursor SET acknowledged_seq = ?, resend_at_ms = ?", watermark, nowMs + resendMs);
      this.#sql.exec(
        "DELETE FROM audit_outbox WHERE seq <= ? AND seq < (SELECT max(seq) FROM audit_outbox)",
        watermark,
      );
    } else if (watermark < acknowledgedSeq && this.#floor() < acknowledgedSeq) {
      // D1 was set back behind what is still here: it gets all of that again, now.
      this.#sql.exec("UPDATE audit_cursor SET sent_seq = ?1, acknowledged_seq = ?1", this.#floor());
    } else if (nowMs >= resendAtMs) {
      this.#sql.exec("UPDATE audit_cursor SET sent_seq = acknowledged_seq");
    }
  }

  #head(): { seq: number; hash: string } {
    const [head] = this.#sql
      .exec<{ seq: number; hash: string }>("SELECT seq, hash FROM audit_outbox ORDER BY seq DESC LIMIT 1")
      .toArray();
    return head ?? { seq: 0, hash: chainStart };
  }

  /** What is up to here has been deleted: D1 had it. */
  #floor(): number {
    return this.#sql.exec<{ floor: number }>("SELECT coalesce(min(seq) - 1, 0) AS floor FROM audit_outbox").one().floor;
  }

  #cursor(): { sentSeq: number; acknowledgedSeq: number; resendAtMs: number } {
    return this.#sql
      .exec<{ sentSeq: number; acknowledgedSeq: number; resendAtMs: number }>(
        "SELECT sent_seq AS sentSeq, acknowledged_seq AS acknowledgedSeq, resend_at_ms AS resendAtMs FROM audit_cursor",
      )
      .one();
  }

  #inFlight(): boolean {
    const { sentSeq, acknowledgedSeq } = this.#cursor();
    return sentSeq > acknowledgedSeq;
  }

  #unsent(shard: string): AuditMessage[] {
    const floor = this.#floor();
    const rows = this.#sql.exec<{
      seq: number;
      atMs: number;
      type: string;
      payload: string;
      previous: string;
      hash: string;
    }>(
      `SELECT seq, at_ms AS atMs, type, payload, previous, hash FROM audit_outbox
        WHERE seq > (SELECT sent_seq FROM audit_cursor) ORDER BY seq LIMIT ?`,
      batchMessages,
    );
    const events: AuditMessage[] = [];
    let characters = 0;
    for (const row of rows) {
      characters += row.payload.length + 512;
      if (events.length > 0 && characters > batchCharacters) break;
      events.push({ shard, ...row, floor });
    }
    return events;
  }
}

function hashText(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

function boundedPayload(payload: Readonly<Record<string, unknown>>): string {
  const text = canonicalJson(payload);
  return text.length <= payloadCharacters ? text : canonicalJson({ omittedSha256: hashText(text) });
}
