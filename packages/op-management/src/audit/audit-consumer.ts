import type { AuditMessage } from "@edge-op/shared/audit/audit-event";
import { hashEvent } from "@edge-op/shared/audit/verify-chain";

interface StoredLink {
  readonly seq: number;
  readonly previous: string;
  readonly hash: string;
}

/**
 * **Writes the audit queue's batches to D1** (protocols.md §5). `(shard, seq)` is the key, so a duplicate is nothing new; the
 * watermark moves over contiguous seq alone, so the outbox sends again what is missing (A2). An event that is not what its
 * outbox hashed is left out, and so sent again; a link that does not fit its neighbours is written and reported (A3).
 * Cost: one D1 transaction a batch. A failure throws: the Queue retries, and so does the outbox.
 */
export async function consumeAudit(batch: MessageBatch<AuditMessage>, env: { readonly DB: D1Database }): Promise<void> {
  const events = await untampered(batch.messages.map(({ body }) => body));
  const shards = Map.groupBy(events, ({ shard }) => shard);
  if (shards.size === 0) return;
  const { DB } = env;
  const results = await DB.batch<StoredLink>([
    ...events.map((event) => insertEvent(DB, event)),
    ...[...shards.keys()].map((shard) => advanceWatermark(DB, shard)),
    ...[...shards.values()].map((received) => selectNeighbours(DB, received)),
  ]);
  const neighbours = results.slice(-shards.size);
  [...shards.values()].forEach((received, index) => {
    reportBreaks(received, neighbours[index]!.results);
  });
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

/** To the end of the run of events that starts after the old watermark. */
function advanceWatermark(database: D1Database, shard: string): D1PreparedStatement {
  return database
    .prepare(
      `WITH RECURSIVE run(seq) AS (
         SELECT coalesce((SELECT seq FROM audit_watermarks WHERE shard = ?1), 0)
         UNION ALL SELECT e.seq FROM run JOIN audit_events e ON e.shard = ?1 AND e.seq = run.seq + 1)
       INSERT INTO audit_watermarks (shard, seq) SELECT ?1, max(seq) FROM run WHERE true
         ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq`,
    )
    .bind(shard);
}

/** What is stored at, before and after the events received: reordered ones meet their neighbours whenever they come. */
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

function report(shard: string, seq: number, reason: string): void {
  console.error(JSON.stringify({ event: "audit-chain-broken", shard, seq, reason }));
}
