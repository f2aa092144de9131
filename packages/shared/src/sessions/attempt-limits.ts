/**
 * **Limits of attempts at a credential.** An attempt takes a place in every bucket of one lane: the first lane that has room. For passwords, an
 * address that has failed at the account fewer than three times has a lane of its own, which others can exhaust only with 240 addresses. Addresses
 * that have failed more often share a lane, which is ten times slower after a hundred failures. NIST allows a hundred failures and would then disable
 * the password, which would lock out its owner. A name, of which an account has one and
 * one for each verified address, can receive at most 2,548 guesses on the first day, and 1,728 on each further day.
 *
 * @see https://pages.nist.gov/800-63-4/sp800-63b.html#throttle
 */

import type { AttemptLimit } from "./session-rpc.ts";

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

/** Three attempts, then one every four hours, within the limit for all addresses together. */
function ownLane(address: string): Lane {
  return [
    { part: `from ${address}`, limit: { capacity: 3, drainMs: 4 * hour } },
    { part: "of all addresses", limit: { capacity: 720, drainMs: 60_000 } },
  ];
}

export function passwordLanes(address: string | undefined): readonly Lane[] {
  return address === undefined ? [sharedLane] : [ownLane(address), sharedLane];
}

/** A lane with a single bucket. */
export function laneOf(limit: AttemptLimit): readonly Lane[] {
  return [[{ part: "", limit }]];
}
