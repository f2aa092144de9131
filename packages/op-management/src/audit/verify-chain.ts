import { hexOf, sha256 } from "@edge-op/protocol/encoding/bytes";
import {
  type AuditGap,
  type AuditMessage,
  type ChainHead,
  chainStart,
  chainText,
} from "@edge-op/shared/audit/audit-event";

/** The single chain before its first event. */
export const emptyChain: ChainHead = { position: 0, chain: chainStart };

/** **The chain value behind an event**: it depends on every earlier event, so one value identifies the whole history. */
export async function nextChainValue(chain: string, hash: string): Promise<string> {
  return hexOf(await sha256(JSON.stringify([chain, hash])));
}

/** **The SHA-256 of an event**, hex, as computed by its outbox. */
export async function hashEvent(event: Omit<AuditMessage, "hash" | "floor">): Promise<string> {
  return hexOf(await sha256(chainText(event)));
}

interface ChainReview {
  /** The `seq` of the first event that was edited, removed, inserted or moved (A3); `undefined` for an unbroken chain. */
  readonly brokenAt: number | undefined;
  /** Recorded gaps in the verified part of the history: events that were lost when D1 was restored to an earlier time. */
  readonly gaps: readonly AuditGap[];
}

interface Anchor {
  readonly seq: number;
  readonly hash: string;
}

/**
 * **Verifies the history of one shard.** `events` are in order of `seq` and start after the trusted anchor `after`. Missing events break the chain
 * unless a recorded gap covers all of them. The chain then continues from the next event's own `previous`, which cannot be verified, and the gap is
 * reported.
 */
export async function reviewChain(
  events: readonly AuditMessage[],
  recorded: readonly AuditGap[],
  after: Anchor = { seq: 0, hash: chainStart },
): Promise<ChainReview> {
  const gaps: AuditGap[] = [];
  let { seq, hash } = after;
  for (const event of events) {
    const missing = { fromSeq: seq + 1, toSeq: event.seq - 1 };
    if (missing.toSeq >= missing.fromSeq && isCovered(missing, recorded)) {
      gaps.push(missing);
      ({ previous: hash } = event);
      seq = missing.toSeq;
    }
    const isLink = event.seq === seq + 1 && event.previous === hash && event.hash === (await hashEvent(event));
    if (!isLink) return { brokenAt: seq + 1, gaps };
    ({ seq, hash } = event);
  }
  return { brokenAt: undefined, gaps };
}

/** The `seq` at which {@link reviewChain} finds that a history without gaps is broken. */
export async function findBreak(events: readonly AuditMessage[], after?: Anchor): Promise<number | undefined> {
  return (await reviewChain(events, [], after)).brokenAt;
}

function isCovered(missing: AuditGap, recorded: readonly AuditGap[]): boolean {
  let next = missing.fromSeq;
  for (const { fromSeq, toSeq } of [...recorded].sort((a, b) => a.fromSeq - b.fromSeq)) {
    if (fromSeq <= next && toSeq >= next) next = toSeq + 1;
  }
  return next > missing.toSeq;
}
