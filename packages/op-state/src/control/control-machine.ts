import { longestRefreshTokenLifetimeSeconds, longestTokenLifetimeSeconds } from "@edge-op/shared/config/settings";
import type { Generation, RegionShards } from "@edge-op/shared/sharding/generation-table";
import type { ShardAddress, ShardedStore } from "@edge-op/shared/sharding/shard-address";
import { lostGenerations, type OpenedGeneration } from "./opened-generations.ts";

/**
 * **The times and sets that `ControlPlane` decides by**, pure. Assumption on clocks: those of isolates and of this object
 * differ by at most {@link clockOffsetMs}; ADR 15 says what happens if they do not, and why it is not the 60 s of leases.
 */
export const clockOffsetMs = 1_000;

/** A code lives between its grant and the family; an isolate may mint by a table it still holds (memory 5 min on KV 5 min). */
const settlingMs = 15 * 60_000;

/** From the creation of a grant to the end of everything that descends from it: a family used on its last day mints once more. */
const grantLifeMs = (longestRefreshTokenLifetimeSeconds + longestTokenLifetimeSeconds) * 1000 + settlingMs;

export interface CutOffTimes {
  /** Ahead of now by the offset, so that a grant just made by an isolate whose clock is ahead is revoked too. */
  readonly notBeforeMs: number;
  /** Families are asked about at every refresh: the cut-off must outlive the longest one, whatever the setting is today. */
  readonly untilMs: number;
}

export function cutOffTimes(nowMs: number): CutOffTimes {
  const notBeforeMs = nowMs + clockOffsetMs;
  return { notBeforeMs, untilMs: notBeforeMs + grantLifeMs };
}

/** How long an answer must still wait so that a grant made after it, by a clock that is behind, is not touched. */
export function cutOffDelayMs(notBeforeMs: number, nowMs: number): number {
  return Math.max(0, notBeforeMs + clockOffsetMs + 1 - nowMs);
}

/** What an id of a store may live after it was minted: a grant stays on its revocation shard for as long as its family. */
const idLifeMs: Readonly<Record<ShardedStore, number>> = {
  revocation: grantLifeMs,
  refresh: grantLifeMs,
  session: grantLifeMs,
  code: longestTokenLifetimeSeconds * 1000 + settlingMs,
  challenge: longestTokenLifetimeSeconds * 1000 + settlingMs,
};

/**
 * How long a row of `control_changes` is kept: nothing that was issued before the change is alive after it. What reads the log
 * needs much less (the oldest copy that is compared with it is KV's key schedule, 30 days), and whoever lags further sees the gap.
 */
export const changeLifeMs = grantLifeMs;

/** When nothing that names a generation can be alive (G2). */
export function retirementDueMs(store: ShardedStore, mintedUntilMs: number): number {
  return mintedUntilMs + idLifeMs[store];
}

/** First resumption after `begin`; a request that lives clears its intent long before. */
export const intentDueMs = 10_000;
export const intentAgainMs = 20_000;

/**
 * A dead Worker's intent is dropped after this: `commitControlChange` starts its D1 batch within
 * seconds of `begin` or not at all, and a batch ends within 30 s. A publication that started later has seen the change, if there is one.
 */
export const intentSettledMs = 120_000;

/** A place to raise: the shard and the row its hint comes from. */
export interface Target {
  readonly address: ShardAddress;
  readonly region: RegionShards;
}

export function shardsOf(generation: number, regions: Readonly<Record<string, RegionShards>>): Target[] {
  return Object.entries(regions).flatMap(([name, region]) =>
    Array.from({ length: region.shards }, (_, shard) => ({ address: { generation, region: name, shard }, region })),
  );
}

/** Every control change calls every shard of every live generation: more than this in one region is a mistake. */
const shardsInRegion = 1_000;

/** Whether ids can name these regions; an opening that cannot be used must not get as far as the ledger. */
export function areValidRegions(regions: Readonly<Record<string, RegionShards>>): boolean {
  const rows = Object.entries(regions);
  return (
    rows.length > 0 &&
    rows.every(
      ([name, { shards }]) =>
        /^[a-z]{2,8}$/.test(name) && Number.isInteger(shards) && shards >= 1 && shards <= shardsInRegion,
    )
  );
}

/**
 * Generations whose shards isolates may be using although D1 does not list them as live: those being opened and those that D1 has
 * lost (ADR 11), and those being retired.
 */
export interface Unlisted {
  readonly opened: readonly OpenedGeneration[];
  readonly retiring: readonly number[];
}

/** Every revocation shard that some isolate may be using: the live ones of the table, and the unlisted. */
export function raiseTargets(table: readonly Generation[], { opened, retiring }: Unlisted): Target[] {
  const listed = table.filter((row) => !row.retired || retiring.includes(row.generation));
  const unlisted = lostGenerations(opened, table).filter((row) => !row.retired);
  return [...listed, ...unlisted]
    .filter(({ store }) => store === "revocation")
    .flatMap((row) => shardsOf(row.generation, row.regions));
}

export function newestGeneration(
  generations: readonly Pick<Generation, "store" | "generation">[],
  store: ShardedStore,
): number {
  return Math.max(0, ...generations.filter((row) => row.store === store).map((row) => row.generation));
}
