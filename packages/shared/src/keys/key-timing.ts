/**
 * **Propagation times and lifetimes of the key schedule** (docs/reference/protocols.md §4): every duration of K1 and K2, in milliseconds, except the
 * header value `jwksMaxAgeSeconds`.
 */

import { longestTokenLifetimeSeconds } from "../config/settings.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

export const keyTiming = {
  /** `Cache-Control` of `/jwks`. */
  jwksMaxAgeSeconds: 300,
  /** An isolate's copy is renewed in the background after half of this, and must be confirmed after all of it. */
  isolateTtlMs: 5 * minuteMs,
  /** A KV copy older than this is used only while KeyManager does not respond. */
  kvCopyMs: 5 * minuteMs,
  /** How long a KV edge may serve a value that has been overwritten. */
  kvStalenessMs: minuteMs,
  /** How long a key signs. */
  signMs: 30 * dayMs,
  /** The successor signs this long before its predecessor stops. */
  overlapMs: dayMs,
  /**
   * The maximum difference between two clocks of the platform, with a margin. The times of a new key begin this long before its creation, so that it
   * is valid for an earlier request on a machine whose clock is behind.
   */
  skewMs: minuteMs,
} as const;

const { jwksMaxAgeSeconds, isolateTtlMs, kvCopyMs, kvStalenessMs, skewMs } = keyTiming;

/** K1: a key is published this long before it signs: at least the sum of all caches through which a relying party may read it. */
export const announceMs =
  skewMs +
  Math.max(
    2 * Math.max(jwksMaxAgeSeconds * 1000, isolateTtlMs, kvStalenessMs),
    jwksMaxAgeSeconds * 1000 + isolateTtlMs + kvCopyMs + kvStalenessMs,
  );

/** K2: a key verifies for this long after it last signed. */
export const verifyMs = longestTokenLifetimeSeconds * 1000 + skewMs;
