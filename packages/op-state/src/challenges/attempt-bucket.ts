import type { AttemptLimit, AttemptResult } from "@edge-op/shared/objects/session-store";

/**
 * **A leaky bucket.** Pure. Each attempt adds one, and one drains every `drainMs`. A full bucket refuses until the next place is
 * free, which takes at most `drainMs`: guessing is slow, and nobody is locked out for long.
 */
export interface AttemptBucket {
  readonly level: number;
  readonly atMs: number;
}

/** The level after the time that has passed; a clock that was set back drains nothing. */
function drained(bucket: AttemptBucket | undefined, { drainMs }: AttemptLimit, nowMs: number): number {
  if (bucket === undefined) return 0;
  return Math.max(0, bucket.level - Math.max(0, nowMs - bucket.atMs) / drainMs);
}

export function reserve(
  bucket: AttemptBucket | undefined,
  limit: AttemptLimit,
  nowMs: number,
): { readonly result: AttemptResult; readonly bucket: AttemptBucket } {
  const level = drained(bucket, limit, nowMs);
  if (level + 1 > limit.capacity) {
    const retryAfterMs = Math.ceil((level + 1 - limit.capacity) * limit.drainMs);
    return { result: { kind: "refused", retryAfterMs }, bucket: { level, atMs: nowMs } };
  }
  return { result: { kind: "allowed" }, bucket: { level: level + 1, atMs: nowMs } };
}

export function refund(bucket: AttemptBucket | undefined, limit: AttemptLimit, nowMs: number): AttemptBucket {
  return { level: Math.max(0, drained(bucket, limit, nowMs) - 1), atMs: nowMs };
}

/** When an unused bucket is empty and its row may be deleted. */
export function emptyAtMs({ level, atMs }: AttemptBucket, { drainMs }: AttemptLimit): number {
  return atMs + Math.ceil(level * drainMs);
}
