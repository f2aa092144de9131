/**
 * **The only module that reads the clock.** Production freezes the clock between I/O, so the arrival time of a request is read first and passed on.
 * Code that compares durations (leases) reads the clock here before it sends.
 */
export function nowMs(): number {
  return Date.now();
}
