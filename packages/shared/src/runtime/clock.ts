/**
 * **The only module that reads the clock.** Production freezes the clock between I/O, so the arrival of a request is read first and
 * passed along. Code that compares durations (leases) reads the clock here, before it sends.
 */
export function nowMs(): number {
  return Date.now();
}

/** Whole seconds of a NumericDate (RFC 7519 §2), rounded down. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
