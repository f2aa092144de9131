import { type ChainHead, chainStart, type RecordedGap, type StoredEvent } from "@edge-op/shared/audit/audit-event";
import { hashEvent, nextChainValue } from "./verify-chain.ts";

export interface LogReview {
  /** Where this part of the log is. */
  readonly store: "database" | "archive";
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

export interface ReviewedEvent extends StoredEvent {
  /** Hash of the previous event in its shard, if that is stored. */
  readonly before: string | null;
}

export interface Anchor {
  readonly seq: number;
  readonly hash: string;
}

export interface ShardFacts {
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

/** What is wrong with an event behind `position`; adds the gap that it shows to `gaps`. */
export async function breakOf(
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
