import type { AttemptLimit } from "./session-rpc.ts";

/**
 * **Limits of attempts at a credential.** An attempt takes a place in every bucket of one lane, the first that has room. At a password, an address
 * that has failed at the account fewer than three times uses a lane of its own: others, however busy, use it up only if they have 240 addresses.
 * Addresses that have failed more often share a lane, which is ten times slower after a hundred failures. NIST allows these and would then disable
 * the password, which keeps its owner out. At most 2,548 guesses at an account in the first day, and 1,728 in each further one.
 *
 * @see https://pages.nist.gov/800-63-4/sp800-63b.html#throttle
 */
export interface LaneBucket {
  /** Distinguishes the buckets of one subject. */
  readonly part: string;
  readonly limit: AttemptLimit;
}

export type Lane = readonly LaneBucket[];

const hour = 3_600_000;

/** Ten, then one every 30 seconds; after a hundred, one every five minutes. A known browser has such a lane to itself. */
export const sharedLane: Lane = [
  { part: "", limit: { capacity: 10, drainMs: 30_000 } },
  { part: "sustained", limit: { capacity: 100, drainMs: hour / 12 } },
];

/** Three attempts, one more every four hours, within what all addresses have together. */
function ownLane(address: string): Lane {
  return [
    { part: `from ${address}`, limit: { capacity: 3, drainMs: 4 * hour } },
    { part: "of all addresses", limit: { capacity: 720, drainMs: 60_000 } },
  ];
}

export function passwordLanes(address: string | undefined): readonly Lane[] {
  return address === undefined ? [sharedLane] : [ownLane(address), sharedLane];
}

/** A single bucket. */
export function laneOf(limit: AttemptLimit): readonly Lane[] {
  return [[{ part: "", limit }]];
}
