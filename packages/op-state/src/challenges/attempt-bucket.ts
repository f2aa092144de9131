import type { AttemptLimit, AttemptResult } from "@edge-op/shared/objects/session-store";

/**
 * **A leaky bucket, pure**: each attempt adds one, time takes one away every `drainMs`. A full bucket refuses until the
 * next place is free, which is never longer than `drainMs`: guessing is slow, and nobody is locked out for long.
 */
export interface AttemptBucket {
  readonly level: number;
  readonly atMs: number;
}

/** Emptier by the time that has passed; a clock that went back takes nothing away. */
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

/** When an untouched bucket is empty and its row may die. */
export function emptyAtMs({ level, atMs }: AttemptBucket, { drainMs }: AttemptLimit): number {
  return atMs + Math.ceil(level * drainMs);
}
