/**
 * **A change of what every isolate uses**: a client, the key schedule, the generation table. Arithmetic;
 * `packages/op-state/test/library/hot-records.test.ts` counts the same of 4, 16 and 64 isolates.
 */

import { limits } from "../../packages/shared/src/config/limits.ts";
import type { LeaseFleet } from "./leases.ts";
import { platform } from "./platform.ts";

/** As JSON: a client with a few redirect URIs; a schedule with every algorithm; a table of five stores. */
const recordBytes = { client: 2_000, keys: 20_000, generations: 700 } as const;

export type HotRecord = keyof typeof recordBytes;

export interface HotChange {
  /** Reads of D1 because of one change. */
  readonly d1Reads: number;
  readonly keyManagerCalls: number;
  /** The bytes of records that the busiest shard or relay sends. */
  readonly bytesSent: number;
}

/** `carries`: changes carry their records. Without, each isolate reads D1, or KeyManager for the schedule. */
export function hotChange(fleet: LeaseFleet, record: HotRecord, carries: boolean): HotChange {
  const { isolates, regions, relaysPerRegion } = fleet;
  const relays = regions * relaysPerRegion;
  const isCarried = carries && recordBytes[record] <= limits.changeRecords.eachCharacters;
  // Each relay reads the table for itself, because it calls the shards.
  const ofRelays = record === "generations" ? relays : 0;
  const readers = isCarried ? 1 : isolates;
  // Every shard sends it to each of its holders, a relay once to each isolate.
  const receivers = relays === 0 ? isolates : Math.max(isolates / relays, relays);
  return {
    d1Reads: (record === "keys" && !carries ? 0 : readers) + ofRelays,
    keyManagerCalls: record === "keys" && !carries ? isolates : 0,
    bytesSent: isCarried ? receivers * recordBytes[record] : 0,
  };
}

/** How long one database or object takes for the reads of a change. */
export function secondsOf(reads: number): number {
  return reads / platform.objectCallsPerSecond;
}

/** Reports of issued tokens per second at the control plane: every five seconds from each isolate of op-token, and as paced. */
export function tokenReports(isolates: number): { readonly unpaced: number; readonly paced: number } {
  const unpaced = isolates / 4 / 5;
  return { unpaced, paced: Math.min(unpaced, 10) };
}
