/** Whole seconds of a NumericDate (RFC 7519 §2), rounded down. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
