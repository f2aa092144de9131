import {
  type AuditMessage,
  canonicalJson,
  chainStart,
  chainText,
  type QueuedEvents,
} from "@edge-op/shared/audit/audit-event";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { AlarmSchedule } from "../wake/alarm-schedule.ts";

export interface AuditBindings {
  readonly AUDIT_QUEUE: Queue;
  readonly AUDIT_DB: D1Database;
}

/** An event waits this long for others. */
const gatherMs = 1_000;
/** An object that has sent events waits this long before it sends more: a message costs the same for one event and for many. */
const busyGatherMs = 10_000;
/** Events were lost, or the consumer is of a release that reads one event of a message: for this long each has its own. */
const singlyMs = 3_600_000;
/** The consumer's batch waits up to 5 s; after this time, the watermark in the audit database should have moved. */
const checkMs = 15_000;
/** Events still above the watermark after this time were lost and are sent again (A2). */
const resendMs = 60_000;
/** A Queue's batch holds 100 messages and 256 KB, one message 128 KB at most. */
const batchEvents = 100;
const batchCharacters = 80_000;
/** The price is for 64 KB. The consumer gets 100 messages at once, which together stay below what D1 takes as one value. */
const messageCharacters = 16_000;
/** Members other than the payload. */
const eventCharacters = 512;
/** Owners write ids and reasons, never long input of callers, because a larger payload could not be sent. */
const payloadCharacters = 30_000;
const batchesPerFlush = 10;
const sweepRows = 1_000;

/**
 * **Stores an object's audit events until D1 contains them** (docs/reference/protocols.md §5). `append` belongs inside the owner's
 * `transactionSync`: the change and its event are one commit (A1). The owner's alarm runs `flush`; no request waits (A4).
 *
 *   audit_outbox(seq, at_ms, type, payload, previous, hash)   deleted below D1's watermark, except the newest, the anchor of the chain
 *   audit_cursor(sent_seq, acknowledged_seq, resend_at_ms)    one row
 *   audit_name(name)                                          one row: the object's name, which is part of the hashes
 */
export class AuditOutbox {
  readonly #sql: SqlStorage;
  readonly #env: AuditBindings;
  /** An alarm may start an instance without its name, and a chain under another name would be a second chain. */
  readonly #name: string | undefined;
  readonly #alarms: AlarmSchedule;
  #checkAtMs = 0;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #singlyUntilMs = Number.NEGATIVE_INFINITY;
  /** The watermark up to which events are being deleted. */
  #sweepTo: number | undefined;

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

  /** The name of the object, also in an instance that an alarm has started. */
  get name(): string | undefined {
    return this.#name;
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
    const pauseEndMs = Math.min(this.#sentAtMs, atMs) + busyGatherMs;
    this.#alarms.wakeBy(Math.max(atMs + gatherMs, pauseEndMs));
  }

  /** Sends new events, deletes acknowledged ones, and sends lost ones again. Returns when it is next due. */
  async flush(nowMs: number): Promise<number | undefined> {
    // The object was created without `audit_name` and has received no request since; the next one contains the name.
    if (this.#name === undefined) return this.#head().seq === 0 ? undefined : nowMs + resendMs;
    if (this.#inFlight() && nowMs >= this.#checkAtMs) await this.#acknowledge(nowMs);
    if (this.#sweepTo !== undefined) {
      if (this.#sweep(this.#sweepTo) === sweepRows) return nowMs;
      this.#sweepTo = undefined;
    }
    for (let batch = 0; batch < batchesPerFlush; batch += 1) {
      const events = this.#unsent(this.#name);
      const last = events.at(-1);
      if (last === undefined) return this.#inFlight() ? this.#checkAtMs : undefined;
      this.#sentAtMs = nowMs;
      const messages = nowMs < this.#singlyUntilMs ? events : inMessages(events);
      await this.#env.AUDIT_QUEUE.sendBatch(messages.map((body) => ({ body })));
      // Both times count from the first event in flight, so that a steady stream does not postpone them.
      if (!this.#inFlight()) {
        this.#checkAtMs = nowMs + checkMs;
        this.#sql.exec("UPDATE audit_cursor SET resend_at_ms = ?", nowMs + resendMs);
      }
      this.#sql.exec("UPDATE audit_cursor SET sent_seq = max(sent_seq, ?)", last.seq);
    }
    return nowMs + gatherMs;
  }

  /** When the oldest event that the database may lack was recorded. */
  oldestUnconfirmedAtMs(): number | undefined {
    return (
      this.#sql
        .exec<{ at: number | null }>(
          "SELECT min(at_ms) AS at FROM audit_outbox WHERE seq > (SELECT acknowledged_seq FROM audit_cursor)",
        )
        .one().at ?? undefined
    );
  }

  async #acknowledge(nowMs: number): Promise<void> {
    const select = this.#env.AUDIT_DB.prepare("SELECT seq FROM audit_watermarks WHERE shard = ?1").bind(this.#name);
    const row = await queryAuditDatabase(() => select.first<{ seq: number }>());
    this.#checkAtMs = nowMs + checkMs;
    const { acknowledgedSeq, resendAtMs } = this.#cursor();
    // Only existing events can be acknowledged, whatever D1 contains.
    const watermark = Math.min(row?.seq ?? 0, this.#head().seq);
    if (watermark > acknowledgedSeq) {
      this.#sql.exec("UPDATE audit_cursor SET acknowledged_seq = ?, resend_at_ms = ?", watermark, nowMs + resendMs);
      this.#sweepTo = watermark;
    } else if (watermark < acknowledgedSeq && this.#floor() < acknowledgedSeq) {
      // D1 was restored to a time before the events that are still here, so all of them are sent again now.
      this.#sql.exec("UPDATE audit_cursor SET sent_seq = ?1, acknowledged_seq = ?1", this.#floor());
    } else if (nowMs >= resendAtMs) {
      this.#sql.exec("UPDATE audit_cursor SET sent_seq = acknowledged_seq");
      this.#singlyUntilMs = nowMs + singlyMs;
    }
  }

  /** Deletes events that D1 has. The newest one is kept, because the chain continues from it. */
  #sweep(watermark: number): number {
    const deleted = this.#sql.exec(
      `DELETE FROM audit_outbox WHERE seq IN
         (SELECT seq FROM audit_outbox WHERE seq <= ? AND seq < (SELECT max(seq) FROM audit_outbox)
            ORDER BY seq LIMIT ?) RETURNING seq`,
      watermark,
      sweepRows,
    );
    return deleted.toArray().length;
  }

  #head(): { seq: number; hash: string } {
    const [head] = this.#sql
      .exec<{ seq: number; hash: string }>("SELECT seq, hash FROM audit_outbox ORDER BY seq DESC LIMIT 1")
      .toArray();
    return head ?? { seq: 0, hash: chainStart };
  }

  /** The events up to here have been deleted, because D1 contained them. */
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
      batchEvents,
    );
    const events: AuditMessage[] = [];
    let characters = 0;
    for (const row of rows) {
      characters += row.payload.length + eventCharacters;
      if (events.length > 0 && characters > batchCharacters) break;
      events.push({ shard, ...row, floor });
    }
    return events;
  }
}

/** Consecutive events share a message. */
function inMessages(events: readonly AuditMessage[]): QueuedEvents[] {
  const messages: { first: AuditMessage; more: AuditMessage[]; characters: number }[] = [];
  for (const event of events) {
    const characters = event.payload.length + eventCharacters;
    const last = messages.at(-1);
    if (last === undefined || last.characters + characters > messageCharacters) {
      messages.push({ first: event, more: [], characters });
      continue;
    }
    last.more.push(event);
    last.characters += characters;
  }
  return messages.map(({ first, more }) => (more.length === 0 ? first : { ...first, more }));
}

function hashText(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

function boundedPayload(payload: Readonly<Record<string, unknown>>): string {
  const text = canonicalJson(payload);
  return text.length <= payloadCharacters ? text : canonicalJson({ omittedSha256: hashText(text) });
}
