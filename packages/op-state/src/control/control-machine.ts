import type { Generation, RegionShards } from "@edge-op/shared/storage/generation-table";
import type { ShardedStore } from "@edge-op/shared/storage/shard-address";

/** **The durations and sets of `ControlPlane`.** Pure. */

/**
 * How long a row of `control_changes` is kept: for longer than the lifetime of the oldest copy that is compared with it, KV's key schedule (30 days).
 * A reader that lags further detects the gap and discards everything (ADR 27).
 */
export const changeLifeMs = 31 * 86_400_000;

/** The first resumption after `begin`; a live request deletes its intent long before. */
export const intentDueMs = 10_000;
export const intentAgainMs = 20_000;

/**
 * The intent of a Worker that crashed is deleted after this time. `commitControlChange` starts its D1 batch within seconds of `begin` or not at all,
 * and a batch ends within 30 s, so a publication that started later contains the change, if it was committed.
 */
export const intentSettledMs = 120_000;

/** The generation table names each shard, and relays lease from all of them; more than this in one region is a mistake. */
const shardsInRegion = 1_000;

/** Whether ids can name these regions; an invalid opening must not reach the ledger. The set may be empty for relays, which closes them. */
export function areValidRegions(store: ShardedStore, regions: Readonly<Record<string, RegionShards>>): boolean {
  const rows = Object.entries(regions);
  return (
    (rows.length > 0 || store === "relay") &&
    rows.every(
      ([name, { shards }]) =>
        /^[a-z]{2,8}$/.test(name) && Number.isInteger(shards) && shards >= 1 && shards <= shardsInRegion,
    )
  );
}

export function newestGeneration(
  generations: readonly Pick<Generation, "store" | "generation">[],
  store: ShardedStore,
): number {
  return Math.max(0, ...generations.filter((row) => row.store === store).map((row) => row.generation));
}
