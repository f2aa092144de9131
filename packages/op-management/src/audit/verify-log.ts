import {
  type ChainHead,
  chainAnchor,
  chainStart,
  eventColumns,
  type RecordedGap,
  type StoredEvent,
} from "@edge-op/shared/audit/audit-event";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import { emptyChain, hashEvent, nextChainValue } from "./verify-chain.ts";

export interface LogReview {
  /** The positions that were verified; `from` > `to` if there are none. */
  readonly from: number;
  readonly to: number;
  /** The chain value at `to`: it identifies the history up to there. */
  readonly chain: string;
  readonly broken?: ChainBreak;
  /** Gaps that replace events of the range. */
  readonly gaps: readonly RecordedGap[];
  /** Continue after this position. */
  readonly next?: number;
}

export interface ChainBreak {
  readonly position: number;
  readonly shard?: string;
  readonly seq?: number;
  readonly reason: string;
}

interface ReviewedEvent extends StoredEvent {
  /** Hash of the previous event in its shard, if that is stored. */
  readonly before: string | null;
}

interface Anchor {
  readonly seq: number;
  readonly hash: string;
}

interface ShardFacts {
  readonly anchors: ReadonlyMap<string, Anchor>;
  readonly watermarks: ReadonlyMap<string, number>;
  readonly gaps: readonly RecordedGap[];
}

export interface ReviewRange {
  /** The first position to verify; by default the first stored one. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
}

/**
 * **Verifies a range of the audit log**: positions without a gap, each event's own hash, the one chain, and each shard's chain. The result names the
 * first event that was edited, removed, inserted or moved (A3). Anchors replace events that retention has deleted; recorded gaps, which are reported,
 * replace events that a restored database lost. Cost: one D1 call and two hashes per event.
 */
export async function reviewLog(database: D1Database, { from, to, limit }: ReviewRange): Promise<LogReview> {
  const facts = await readFacts(database);
  const anchor = facts.anchors.get(chainAnchor);
  const first = Math.max(from ?? 1, (anchor?.seq ?? 0) + 1);
  const start = await chainBefore(database, first, anchor);
  const end = to ?? Number.MAX_SAFE_INTEGER;
  const rows = await readEvents(database, first, end, limit + 1);
  const events = rows.slice(0, limit);
  const empty = { from: first, to: first - 1, gaps: [] };
  if (start === undefined) {
    const reason = "the event before the range is missing";
    return { ...empty, chain: "", broken: { position: first - 1, reason } };
  }
  const gaps: RecordedGap[] = [];
  let { position, chain } = start;
  for (const event of events) {
    const broken = await breakOf(event, { position, chain }, facts, gaps);
    if (broken !== undefined) return { from: first, to: position, chain, broken, gaps };
    ({ position, chain } = event);
  }
  return { from: first, to: position, chain, gaps, ...(rows.length > limit ? { next: position } : {}) };
}

async function breakOf(
  event: ReviewedEvent,
  { position, chain }: ChainHead,
  facts: ShardFacts,
  gaps: RecordedGap[],
): Promise<ChainBreak | undefined> {
  const { shard, seq } = event;
  if (event.position !== position + 1) return { position: position + 1, reason: "the event is missing" };
  const at = { position: event.position, shard, seq };
  if (event.hash !== (await hashEvent(event))) return { ...at, reason: "the event is not what its outbox hashed" };
  if (event.chain !== (await nextChainValue(chain, event.hash))) {
    return { ...at, reason: "the chain does not continue the one before" };
  }
  const link = linkOf(event, facts);
  if (link.kind === "gap") gaps.push(link.gap);
  if (link.kind === "missing") return { ...at, reason: `the event ${seq - 1} of its shard is missing` };
  if (link.kind === "expected" && link.hash !== event.previous) {
    return { ...at, reason: "the event before it in its shard is not its own" };
  }
  return undefined;
}

type Link =
  | { readonly kind: "expected"; readonly hash: string }
  | { readonly kind: "gap"; readonly gap: RecordedGap }
  /** The previous event is not stored and need not be. */
  | { readonly kind: "open" }
  | { readonly kind: "missing" };

function linkOf({ shard, seq, before }: ReviewedEvent, { anchors, watermarks, gaps }: ShardFacts): Link {
  if (seq === 1) return { kind: "expected", hash: chainStart };
  if (before !== null) return { kind: "expected", hash: before };
  const anchor = anchors.get(shard);
  if (anchor?.seq === seq - 1) return { kind: "expected", hash: anchor.hash };
  if (anchor !== undefined && seq - 1 <= anchor.seq) return { kind: "open" };
  const gap = gaps.find((each) => each.shard === shard && each.fromSeq <= seq - 1 && seq - 1 <= each.toSeq);
  if (gap !== undefined) return { kind: "gap", gap };
  // The previous event has not arrived yet; the outbox sends it again.
  return (watermarks.get(shard) ?? 0) < seq ? { kind: "open" } : { kind: "missing" };
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
