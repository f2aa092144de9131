import { type ChainHead, chainAnchor, type RecordedGap, type StoredEvent } from "@edge-op/shared/audit/audit-event";
import {
  type AuditStores,
  decodeSegment,
  digestOf,
  readSegment,
  type Segment,
  segmentColumns,
} from "@edge-op/shared/audit/segment";
import { queryAuditDatabase } from "@edge-op/shared/storage/query-database";
import {
  type Anchor,
  breakOf,
  type ChainBreak,
  type LogReview,
  type ReviewRange,
  type ShardFacts,
} from "./review-event.ts";

const mostSegments = 4;

/**
 * **Verifies whole segments of the archive**, from the one that contains `from`: that each object is the one that was sealed, each event, the one
 * chain from segment to segment and to the first event of D1, and each object's own chain where both events are within the range. `undefined` if
 * nothing of the range is archived.
 */
export async function reviewArchive(
  { AUDIT_DB, AUDIT_EXPORT }: AuditStores,
  { from = 1, to = Number.MAX_SAFE_INTEGER, limit }: ReviewRange,
  facts: ShardFacts,
): Promise<LogReview | undefined> {
  if (AUDIT_EXPORT === undefined) return undefined;
  const select = AUDIT_DB.prepare(
    `SELECT ${segmentColumns} FROM audit_segments WHERE to_position >= ?1 AND from_position <= ?2 ORDER BY to_position LIMIT ?3`,
  ).bind(from, to, mostSegments);
  const { results: segments } = await queryAuditDatabase(() => select.all<Segment>());
  const first = segments[0];
  if (first === undefined) return undefined;
  // An event before the range is not read: its link is open, unless a gap is recorded for it.
  const links: ShardFacts = { anchors: new Map(), watermarks: new Map(), gaps: facts.gaps };
  const gaps: RecordedGap[] = [];
  const hashes = new Map<string, string>();
  let end: ChainHead = { position: first.from - 1, chain: first.before };
  const result = (more: Partial<LogReview>): LogReview => ({
    ...{ store: "archive", from: first.from, to: end.position, chain: end.chain, gaps },
    ...more,
  });
  for (const segment of segments) {
    const problem = await problemOf(AUDIT_EXPORT, segment, end);
    if (typeof problem === "string") return result({ broken: { position: end.position + 1, reason: problem } });
    for (const event of problem) {
      const before = event.seq === 1 ? null : (hashes.get(`${event.shard} ${event.seq - 1}`) ?? null);
      const broken = await breakOf({ ...event, before }, end, links, gaps);
      if (broken !== undefined) return result({ broken });
      hashes.set(`${event.shard} ${event.seq}`, event.hash);
      end = { position: event.position, chain: event.chain };
    }
    if (end.position !== segment.to || end.chain !== segment.chain)
      return result({ broken: { position: end.position + 1, reason: "the segment ends before its row says" } });
    if (segment.to >= to) return result({});
    if (end.position - first.from + 1 >= limit) return result({ next: segment.to });
  }
  const anchor = facts.anchors.get(chainAnchor);
  const broken = anchor && segments.length < mostSegments ? breakAtEnd(end, anchor) : undefined;
  if (broken !== undefined) return result({ broken });
  return result({ next: end.position });
}

/** D1 continues behind its anchor. It was read before the segments, which may end later, but not earlier. */
function breakAtEnd({ position, chain }: ChainHead, anchor: Anchor): ChainBreak | undefined {
  if (anchor.seq > position) return { position: position + 1, reason: "the segment is not listed" };
  if (anchor.seq < position || anchor.hash === chain) return undefined;
  return { position, reason: "the archive and the database do not continue each other" };
}

/** The events of a segment, or why they are not those that were sealed. */
async function problemOf(bucket: R2Bucket, segment: Segment, end: ChainHead): Promise<StoredEvent[] | string> {
  if (segment.from !== end.position + 1) return "the segment is not listed";
  if (segment.before !== end.chain) return "the chain does not continue the segment before";
  const bytes = await readSegment(bucket, segment.key);
  if (bytes === undefined) return `the segment ${segment.key} is missing`;
  if ((await digestOf(bytes)) !== segment.digest) return `the segment ${segment.key} is not the one that was sealed`;
  return decodeSegment(bytes);
}
