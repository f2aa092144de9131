import { type ChainHead, chainAnchor, eventColumns, type RecordedGap } from "@edge-op/shared/audit/audit-event";
import type { AuditStores } from "@edge-op/shared/audit/segment";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import {
  type Anchor,
  breakOf,
  type LogReview,
  type ReviewedEvent,
  type ReviewRange,
  type ShardFacts,
} from "./review-event.ts";
import { reviewArchive } from "./verify-archive.ts";
import { emptyChain } from "./verify-chain.ts";

/**
 * **Verifies a range of the audit log**: positions without a gap, each event's own hash, the one chain, and each shard's chain. The result names the
 * first event that was edited, removed, inserted or moved (A3). Anchors replace events that D1 has no more; recorded gaps, which are reported,
 * replace events that a restored database lost. A range that begins in the archive ends at a segment's end. Cost: two D1 calls, one R2 call for each
 * segment, and two hashes per event.
 */
export async function reviewLog(stores: AuditStores, { from, to, limit }: ReviewRange): Promise<LogReview> {
  const { AUDIT_DB: database } = stores;
  const facts = await readFacts(database);
  const anchor = facts.anchors.get(chainAnchor);
  const archived = await reviewArchive(stores, { from, to, limit }, facts);
  if (archived !== undefined) return archived;
  const first = Math.max(from ?? 1, (anchor?.seq ?? 0) + 1);
  const start = await chainBefore(database, first, anchor);
  const end = to ?? Number.MAX_SAFE_INTEGER;
  const rows = await readEvents(database, first, end, limit + 1);
  const events = rows.slice(0, limit);
  const empty = { store: "database", from: first, to: first - 1, gaps: [] } as const;
  if (start === undefined) {
    const reason = "the event before the range is missing";
    return { ...empty, chain: "", broken: { position: first - 1, reason } };
  }
  const gaps: RecordedGap[] = [];
  let { position, chain } = start;
  for (const event of events) {
    const broken = await breakOf(event, { position, chain }, facts, gaps);
    if (broken !== undefined) return { store: "database", from: first, to: position, chain, broken, gaps };
    ({ position, chain } = event);
  }
  return {
    store: "database",
    from: first,
    to: position,
    chain,
    gaps,
    ...(rows.length > limit ? { next: position } : {}),
  };
}

/** The chain value before a position; `undefined` if the event there is missing. */
async function chainBefore(
  database: D1Database,
  first: number,
  anchor: Anchor | undefined,
): Promise<ChainHead | undefined> {
  if (anchor?.seq === first - 1) return { position: anchor.seq, chain: anchor.hash };
  if (first === 1) return emptyChain;
  const select = database
    .prepare("SELECT position, lower(hex(chain)) AS chain FROM audit_events WHERE position = ?1")
    .bind(first - 1);
  return (await queryAuditDatabase(() => select.first<ChainHead>())) ?? undefined;
}

async function readEvents(
  database: D1Database,
  first: number,
  last: number,
  limit: number,
): Promise<readonly ReviewedEvent[]> {
  const select = database
    .prepare(
      `SELECT ${eventColumns}, (SELECT lower(hex(p.hash)) FROM audit_events p WHERE p.shard = e.shard AND p.seq = e.seq - 1) AS before
         FROM audit_events e WHERE e.position BETWEEN ?1 AND ?2 ORDER BY e.position LIMIT ?3`,
    )
    .bind(first, last, limit);
  return (await queryAuditDatabase(() => select.all<ReviewedEvent>())).results;
}

async function readFacts(database: D1Database): Promise<ShardFacts> {
  const [anchors, watermarks, gaps] = await queryAuditDatabase(() =>
    database.batch<RecordedGap & Anchor>([
      database.prepare("SELECT shard, seq, lower(hex(hash)) AS hash FROM audit_anchors"),
      database.prepare("SELECT shard, seq FROM audit_watermarks"),
      database.prepare(
        "SELECT shard, from_seq AS fromSeq, to_seq AS toSeq FROM audit_gaps ORDER BY recorded_at_ms DESC LIMIT 10000",
      ),
    ]),
  );
  return {
    anchors: new Map(anchors!.results.map(({ shard, seq, hash }) => [shard, { seq, hash }])),
    watermarks: new Map(watermarks!.results.map(({ shard, seq }) => [shard, seq])),
    gaps: gaps!.results,
  };
}
