import { longestTokenLifetimeSeconds } from "../config/settings.ts";

/**
 * **How fast the key schedule becomes known, and how long keys live** (docs/reference/protocols.md §4). Every duration that K1 and K2 speak
 * of is here; milliseconds, except `jwksMaxAgeSeconds`, which is a header's.
 */
const minuteMs = 60_000;
const dayMs = 86_400_000;

export const keyTiming = {
  /** `Cache-Control` of `/jwks`. */
  jwksMaxAgeSeconds: 300,
  /** An isolate's memory is renewed in the background after half of this, and not used unasked after all of it. */
  isolateTtlMs: 5 * minuteMs,
  /** A KV copy older than this is used only while KeyManager does not answer. */
  kvCopyMs: 5 * minuteMs,
  /** How long a KV edge may serve a value that has been overwritten. */
  kvStalenessMs: minuteMs,
  /** How long a key signs. */
  signMs: 30 * dayMs,
  /** The successor signs this long before its predecessor stops. */
  overlapMs: dayMs,
  /**
   * Difference of two clocks of ours, generously. A new key's times begin this long before it was made: it must count
   * for a request that arrived before, on a machine whose clock is behind.
   */
  skewMs: minuteMs,
} as const;

const { jwksMaxAgeSeconds, isolateTtlMs, kvCopyMs, kvStalenessMs, skewMs } = keyTiming;

/** K1: a key is known this long before it signs. At least the sum of every cache that a relying party may read it through. */
export const announceMs =
  skewMs +
  Math.max(
    2 * Math.max(jwksMaxAgeSeconds * 1000, isolateTtlMs, kvStalenessMs),
    jwksMaxAgeSeconds * 1000 + isolateTtlMs + kvCopyMs + kvStalenessMs,
  );

/** K2: a key verifies this long after it last signed. */
export const verifyMs = longestTokenLifetimeSeconds * 1000 + skewMs;
