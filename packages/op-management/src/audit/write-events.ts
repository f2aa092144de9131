import { type AuditMessage, type ChainHead, type RecordedGap, selectHead } from "@edge-op/shared/audit/audit-event";
import { limits } from "@edge-op/shared/config/limits";
import { isOvertaken, queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import { emptyChain, nextChainValue } from "./verify-chain.ts";

export interface WriteResult {
  /** Gaps that this write has recorded. */
  readonly gaps: readonly RecordedGap[];
  /** The links at, before and after the events, by shard. */
  readonly neighbours: ReadonlyMap<string, readonly StoredLink[]>;
}

export interface StoredLink {
  readonly shard: string;
  readonly seq: number;
  readonly previous: string;
  readonly hash: string;
}

/** The maximum number of attempts when another writer is first each time; the queue then delivers the batch again. */
const attempts = 5;

interface LogState {
  readonly head: ChainHead;
  /** `shard seq` of the received events that are stored. */
  readonly stored: ReadonlySet<string>;
  /** The `seq` up to which retention has deleted a shard's events, by shard. */
  readonly anchors: ReadonlyMap<string, number>;
}

/**
 * **Appends events to the audit log** (docs/reference/protocols.md §5). Each new `(shard, seq)` gets the next position of the one chain; an event
 * that is already stored, or was deleted by retention, is skipped. The watermark of a shard only moves over contiguous `seq`, so the outbox sends
 * missing events again (A2). Events missing below the outbox's floor are lost: they are recorded as a gap, and the watermark continues after it (ADR
 * 35). Concurrent writers conflict at the position, and the later one reads again. Cost: two D1 calls, the second one a transaction.
 */
export async function writeEvents(
  database: D1Database,
  received: readonly AuditMessage[],
  atMs: number,
): Promise<WriteResult> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptWrite(database, received, atMs);
    } catch (error) {
      if (attempt === attempts || !isOvertaken(error)) throw error;
    }
  }
}

async function attemptWrite(
  database: D1Database,
  received: readonly AuditMessage[],
  atMs: number,
): Promise<WriteResult> {
  const byShard = Map.groupBy(received, ({ shard }) => shard);
  const state = await readState(database, received, [...byShard.keys()]);
  const rows = await chainRows(state, received);
  const shards = [...byShard];
  const results = await queryAuditDatabase(
    () =>
      database.batch<RecordedGap & StoredLink>([
        insertRows(database, rows),
        ...shards.map(([shard, events]) => recordGaps(database, shard, floorOf(events), atMs)),
        ...shards.map(([shard, events]) => advanceWatermark(database, shard, floorOf(events))),
        ...shards.map(([, events]) => selectNeighbours(database, events)),
      ]),
    limits.databaseCommitMs,
  );
  return {
    gaps: results.slice(1, 1 + shards.length).flatMap((result) => result.results),
    neighbours: new Map(results.slice(-shards.length).map(({ results: links }, index) => [shards[index]![0], links])),
  };
}

async function readState(
  database: D1Database,
  received: readonly AuditMessage[],
  shards: readonly string[],
): Promise<LogState> {
  const keys = JSON.stringify(received.map(({ shard, seq }) => ({ shard, seq })));
  const [head, stored, anchors] = await queryAuditDatabase(() =>
    database.batch<ChainHead & { shard: string; seq: number }>([
      database.prepare(selectHead),
      database
        .prepare(
          `SELECT e.shard, e.seq FROM json_each(?1) JOIN audit_events e
             ON e.shard = value ->> '$.shard' AND e.seq = value ->> '$.seq'`,
        )
        .bind(keys),
      database
        .prepare("SELECT shard, seq FROM json_each(?1) JOIN audit_anchors ON shard = value")
        .bind(JSON.stringify(shards)),
    ]),
  );
  return {
    head: head!.results[0] ?? emptyChain,
    stored: new Set(stored!.results.map(({ shard, seq }) => `${shard} ${seq}`)),
    anchors: new Map(anchors!.results.map(({ shard, seq }) => [shard, seq])),
  };
}

interface ChainedRow extends Omit<AuditMessage, "floor"> {
  readonly position: number;
  readonly chain: string;
}

async function chainRows(
  { head, stored, anchors }: LogState,
  received: readonly AuditMessage[],
): Promise<ChainedRow[]> {
  const fresh = new Map<string, AuditMessage>();
  for (const event of received) {
    const key = `${event.shard} ${event.seq}`;
    const isDeleted = event.seq <= (anchors.get(event.shard) ?? 0);
    if (!stored.has(key) && !fresh.has(key) && !isDeleted) fresh.set(key, event);
  }
  const rows: ChainedRow[] = [];
  let { position, chain } = head;
  for (const { floor: _, ...event } of fresh.values()) {
    position += 1;
    chain = await nextChainValue(chain, event.hash);
    rows.push({ ...event, position, chain });
  }
  return rows;
}

function insertRows(database: D1Database, rows: readonly ChainedRow[]): D1PreparedStatement {
  return database
    .prepare(
      `INSERT INTO audit_events (position, shard, seq, at_ms, type, payload, previous, hash, chain)
         SELECT value ->> '$.position', value ->> '$.shard', value ->> '$.seq', value ->> '$.atMs', value ->> '$.type',
           value ->> '$.payload', unhex(value ->> '$.previous'), unhex(value ->> '$.hash'), unhex(value ->> '$.chain')
           FROM json_each(?1)`,
    )
    .bind(JSON.stringify(rows));
}

/** The highest floor that the events name. A floor at or above its own event cannot be true and is ignored. */
function floorOf(received: readonly AuditMessage[]): number {
  return Math.max(0, ...received.map(({ floor, seq }) => (floor < seq ? floor : 0)));
}

/** Records the events between the watermark and the floor that the log lacks: none, unless it was restored. */
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
         ON CONFLICT DO UPDATE SET to_seq = max(to_seq, excluded.to_seq)
         RETURNING shard, from_seq AS fromSeq, to_seq AS toSeq`,
    )
    .bind(shard, floor, atMs);
}

/** Moves the watermark to the end of the run of events that starts after the old watermark or the floor. */
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
    .prepare(
      `SELECT shard, seq, lower(hex(previous)) AS previous, lower(hex(hash)) AS hash FROM audit_events
         WHERE shard = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq`,
    )
    .bind(received[0]!.shard, Math.min(...seqs) - 1, Math.max(...seqs) + 1);
}
