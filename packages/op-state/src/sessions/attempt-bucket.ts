import type { AttemptLane, AttemptLimit, AttemptResult } from "@edge-op/shared/sessions/session-rpc";

/**
 * **A leaky bucket.** Pure. Each attempt adds one, and one drains every `drainMs`. A full bucket refuses until the next place is free, which takes at
 * most `drainMs`, so guessing is slow.
 */
export interface AttemptBucket {
  readonly level: number;
  readonly atMs: number;
}

/** The bucket after the time that has passed. A clock that was set back drains nothing, and the repeated time is not drained twice. */
function drained(bucket: AttemptBucket | undefined, { drainMs }: AttemptLimit, nowMs: number): AttemptBucket {
  if (bucket === undefined) return { level: 0, atMs: nowMs };
  const atMs = Math.max(bucket.atMs, nowMs);
  return { level: Math.max(0, bucket.level - (atMs - bucket.atMs) / drainMs), atMs };
}

/** Milliseconds until the bucket has room for one more; 0 if it has room. */
function waitMs({ level }: AttemptBucket, { capacity, drainMs }: AttemptLimit): number {
  return level + 1 > capacity ? Math.ceil((level + 1 - capacity) * drainMs) : 0;
}

interface TakenPlace {
  readonly key: string;
  readonly limit: AttemptLimit;
  readonly bucket: AttemptBucket;
}

/**
 * Takes a place in every bucket of the first lane in which each has room. A refusal takes none, so repeated refused attempts use up nothing; it
 * returns the shortest wait of any lane.
 */
export function reserveInLanes(
  lanes: readonly AttemptLane[],
  read: (key: string) => AttemptBucket | undefined,
  nowMs: number,
): { readonly result: AttemptResult; readonly taken: readonly TakenPlace[] } {
  let retryAfterMs = Number.POSITIVE_INFINITY;
  for (const lane of lanes) {
    const places = lane.map(({ key, limit }) => ({ key, limit, bucket: drained(read(key), limit, nowMs) }));
    const wait = Math.max(...places.map(({ bucket, limit }) => waitMs(bucket, limit)));
    if (wait === 0) {
      const taken = places.map(({ bucket, ...place }) => ({
        ...place,
        bucket: { ...bucket, level: bucket.level + 1 },
      }));
      return { result: { kind: "allowed", lane }, taken };
    }
    retryAfterMs = Math.min(retryAfterMs, wait);
  }
  return { result: { kind: "refused", retryAfterMs }, taken: [] };
}

export function refund(bucket: AttemptBucket | undefined, limit: AttemptLimit, nowMs: number): AttemptBucket {
  const { level, atMs } = drained(bucket, limit, nowMs);
  return { level: Math.max(0, level - 1), atMs };
}

/** When an unused bucket is empty and its row may be deleted. */
export function emptyAtMs({ level, atMs }: AttemptBucket, { drainMs }: AttemptLimit): number {
  return atMs + Math.ceil(level * drainMs);
}
