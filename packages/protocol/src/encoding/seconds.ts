/** Whole seconds of a NumericDate (RFC 7519 §2), rounded down. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Tolerated skew of foreign clocks: for client assertions, request objects and proofs, never for our own tokens. */
export const foreignClockSkewSeconds = 30;
