import type { AuditMessage } from "@edge-op/shared/audit/audit-event";
import { hashEvent } from "@edge-op/shared/audit/verify-chain";
import { queryDatabase } from "@edge-op/shared/cache/query-database";
import { limits } from "@edge-op/shared/config/limits";
import { reportFailure } from "@edge-op/shared/http/failure";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";

interface StoredLink {
  readonly seq: number;
  readonly previous: string;
  readonly hash: string;
}

interface GapRow {
  readonly from_seq: number;
  readonly to_seq: number;
}

/**
 * **Writes the audit queue's batches to D1** (docs/reference/protocols.md §5). `(shard, seq)` is the key, so a duplicate is nothing new; the
 * watermark moves over contiguous seq alone, so the outbox sends again what is missing (A2). What is missing below the outbox's
 * floor is lost: it is recorded as a gap, and the watermark goes on behind it (ADR 14). An event that is not what its
 * outbox hashed is left out, and so sent again; a link that does not fit its neighbours is written and reported (A3).
 * Cost: one D1 transaction a batch. A failure throws: the Queue retries, and so does the outbox.
 */
export async function consumeAudit(batch: MessageBatch<AuditMessage>, env: { readonly DB: D1Database }): Promise<void> {
  try {
    await write(
      batch.messages.map(({ body }) => body),
      env.DB,
    );
  } catch (error) {
    reportFailure(error);
    throw error;
  }
}

async function write(messages: readonly AuditMessage[], DB: D1Database): Promise<void> {
  const events = await untampered(messages);
  const shards = Map.groupBy(events, ({ shard }) => shard);
  if (shards.size === 0) return;
  const atMs = nowMs();
  const statements = [
    ...events.map((event) => insertEvent(DB, event)),
    ...[...shards].map(([shard, received]) => recordGaps(DB, shard, floorOf(received), atMs)),
    ...[...shards].map(([shard, received]) => advanceWatermark(DB, shard, floorOf(received))),
    ...[...shards.values()].map((received) => selectNeighbours(DB, received)),
  ];
  const results = await queryDatabase(() => DB.batch<StoredLink & GapRow>(statements), limits.databaseCommitMs);
  const gaps = results.slice(events.length, events.length + shards.size);
  const neighbours = results.slice(-shards.size);
  [...shards].forEach(([shard, received], index) => {
    reportGaps(shard, gaps[index]!.results);
    reportBreaks(received, neighbours[index]!.results);
  });
}

/** The highest floor that the events name. A floor at or above its own event is ignored: it cannot be true. */
function floorOf(received: readonly AuditMessage[]): number {
  return Math.max(0, ...received.map(({ floor, seq }) => (floor !== undefined && floor < seq ? floor : 0)));
}

async function untampered(events: readonly AuditMessage[]): Promise<AuditMessage[]> {
  const hashes = await Promise.all(events.map(hashEvent));
  return events.filter((event, index) => {
    const intact = hashes[index] === event.hash;
    if (!intact) report(event.shard, event.seq, "the event is not what its outbox hashed");
    return intact;
  });
}

function insertEvent(database: D1Database, event: AuditMessage): D1PreparedStatement {
  const { shard, seq, atMs, type, payload, previous, hash } = event;
  return database
    .prepare(
      `INSERT INTO audit_events (shard, seq, at_ms, type, payload, previous, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (shard, seq) DO NOTHING`,
    )
    .bind(shard, seq, atMs, type, payload, previous, hash);
}

/** Records the events between the watermark and the floor that D1 does not have: none, unless D1 was restored. */
function recordGaps(database: D1Database, shard: string, floor: number, atMs: number): D1PreparedStatement {
  return database
    .prepare(
      `WITH mark(seq) AS (SELECT coalesce((SELECT seq FROM audit_watermarks WHERE shard = ?1), 0)),
         known(seq) AS (
           SELECT seq FROM mark
           UNION SELECT e.seq FROM mark JOIN audit_events e ON e.shard = ?1 AND e.seq > mark.seq AND e.seq <= ?2
           UNION SELECT ?2 + 1)
       INSERT INTO audit_gaps (shard, from_seq, to_seq, recorded_at_ms)
         SELECT ?1, before + 1, seq - 1, ?3 FROM (SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM known)
           WHERE before >= (SELECT seq FROM mark) AND seq > before + 1
         ON CONFLICT DO UPDATE SET to_seq = max(to_seq, excluded.to_seq) RETURNING from_seq, to_seq`,
    )
    .bind(shard, floor, atMs);
}

/** To the end of the run of events that starts after the old watermark, or after the floor. */
function advanceWatermark(database: D1Database, shard: string, floor: number): D1PreparedStatement {
  return database
    .prepare(
      `WITH RECURSIVE run(seq) AS (
         SELECT max(coalesce((SELECT seq FROM audit_watermarks WHERE shard = ?1), 0), ?2)
         UNION ALL SELECT e.seq FROM run JOIN audit_events e ON e.shard = ?1 AND e.seq = run.seq + 1)
       INSERT INTO audit_watermarks (shard, seq) SELECT ?1, max(seq) FROM run WHERE true
         ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq`,
    )
    .bind(shard, floor);
}

/** Selects the stored events at, before and after the received ones, which may arrive in any order. */
function selectNeighbours(database: D1Database, received: readonly AuditMessage[]): D1PreparedStatement {
  const seqs = received.map(({ seq }) => seq);
  return database
    .prepare("SELECT seq, previous, hash FROM audit_events WHERE shard = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq")
    .bind(received[0]!.shard, Math.min(...seqs) - 1, Math.max(...seqs) + 1);
}

function reportBreaks(received: readonly AuditMessage[], stored: readonly StoredLink[]): void {
  const hashes = new Map(stored.map(({ seq, hash }) => [seq, hash]));
  for (const { shard, seq, hash } of received) {
    if (hashes.get(seq) !== hash) report(shard, seq, "another event has this place");
  }
  for (const { seq, previous } of stored) {
    const before = hashes.get(seq - 1);
    if (before !== undefined && before !== previous) report(received[0]!.shard, seq, "the event before is not its own");
  }
}

function reportGaps(shard: string, gaps: readonly GapRow[]): void {
  for (const { from_seq, to_seq } of gaps) {
    log("audit-gap", { shard, fromSeq: from_seq, toSeq: to_seq });
  }
}

function report(shard: string, seq: number, reason: string): void {
  log("audit-chain-broken", { shard, seq, reason });
}
