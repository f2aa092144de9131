/**
 * **The one place that reads the clock.** Production freezes it between I/O, so a request's arrival is read first thing
 * and passed along; whoever compares durations (leases) reads it here, before sending.
 */
export function nowMs(): number {
  return Date.now();
}

/** Whole seconds of a NumericDate (RFC 7519 §2), rounded down. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
