import { fnv1a } from "@edge-op/protocol/encoding/bytes";
import { isNumber, isText, objectOf, readStored, recordOf } from "@edge-op/protocol/encoding/stored-json";
import {
  longestDeviceCodeSeconds,
  longestRefreshTokenLifetimeSeconds,
  longestTokenLifetimeSeconds,
} from "../config/settings.ts";
import type { StoredKind } from "./record-kinds.ts";
import { type NamedStore, namedStores, type ShardAddress, type ShardedStore } from "./shard-address.ts";

export interface RegionShards {
  readonly shards: number;
  /** The location hint with which its Durable Objects are created. */
  readonly hint: DurableObjectLocationHint;
}

export const areRegions = recordOf(objectOf<RegionShards>({ shards: isNumber, hint: isText }));

export interface Generation {
  readonly store: ShardedStore;
  readonly generation: number;
  readonly regions: Readonly<Record<string, RegionShards>>;
  readonly mintedFromMs: number;
  /** Undefined for the newest generation. */
  readonly mintedUntilMs: number | undefined;
  /** Drained: no live token or session refers to it (G2). */
  readonly retired: boolean;
}

/**
 * **The generation table**: the number of shards of each store, their regions, and their start. Append-only: new ids use the newest generation, and
 * an existing id is routed by its own generation (docs/reference/protocols.md §1).
 */
export class GenerationTable {
  readonly #generations: ReadonlyMap<string, Generation>;
  readonly #newest: ReadonlyMap<ShardedStore, Generation>;
  readonly all: readonly Generation[];

  constructor(generations: readonly Generation[]) {
    this.all = generations;
    this.#generations = new Map(generations.map((row) => [`${row.store}:${row.generation}`, row]));
    const newest = new Map<ShardedStore, Generation>();
    for (const row of generations) {
      const known = newest.get(row.store);
      if (known === undefined || row.generation > known.generation) newest.set(row.store, row);
    }
    for (const store of namedStores) {
      if (!newest.has(store)) throw new Error(`the generation table has no generation of ${store}`);
    }
    this.#newest = newest;
  }

  newest(store: NamedStore): Generation {
    return this.#newest.get(store)!;
  }

  /** The number of the newest generation; `undefined` if there have been no relays. */
  newestGeneration(store: ShardedStore): number | undefined {
    return this.#newest.get(store)?.generation;
  }

  /** The regions of the newest generation; none if there are no relays. */
  newestRegions(store: ShardedStore): Readonly<Record<string, RegionShards>> {
    return this.#newest.get(store)?.regions ?? {};
  }

  /** The row of the region if the address is in the table and not retired (G1); its hint places a new object. */
  find(store: ShardedStore, at: ShardAddress): RegionShards | undefined {
    const row = this.#generations.get(`${store}:${at.generation}`);
    if (row === undefined || row.retired) return undefined;
    const region = Object.hasOwn(row.regions, at.region) ? row.regions[at.region] : undefined;
    return region !== undefined && at.shard < region.shards ? region : undefined;
  }

  /** Whether the generation is known: an unknown one in a verified token reloads the table once (G3). */
  knows(store: ShardedStore, generation: number): boolean {
    return this.#generations.has(`${store}:${generation}`);
  }

  /** Whether no live token or session can refer to the generation. */
  isRetired(store: ShardedStore, generation: number): boolean {
    return this.#generations.get(`${store}:${generation}`)?.retired === true;
  }

  /** Every address of a store to which a live token or session may refer. */
  live(store: ShardedStore): ShardAddress[] {
    return this.all
      .filter((row) => row.store === store && !row.retired)
      .flatMap((row) =>
        Object.entries(row.regions).flatMap(([region, { shards }]) =>
          Array.from({ length: shards }, (_, shard) => ({ generation: row.generation, region, shard })),
        ),
      );
  }

  /** The possible addresses of an id that was placed by its key: one address per region of each live generation. */
  candidates(store: ShardedStore, key: string): ShardAddress[] {
    return this.all
      .filter((row) => row.store === store && !row.retired)
      .flatMap((row) => Object.keys(row.regions).map((region) => placeIn(row, region, key)!));
  }

  /** One address per live generation, oldest first, for a key that every isolate must look up in the same place. */
  homes(store: ShardedStore, key: string): ShardAddress[] {
    return this.all
      .filter((row) => row.store === store && !row.retired)
      .sort((a, b) => a.generation - b.generation)
      .map((row) => {
        const shards = Object.keys(row.regions)
          .sort()
          .flatMap((region) => Array.from({ length: row.regions[region]!.shards }, (_, shard) => ({ region, shard })));
        return { generation: row.generation, ...shards[fnv1a(key) % shards.length]! };
      });
  }

  /** The address for a new id: the newest generation, the given region or its first, the key's shard. */
  place(store: NamedStore, region: string, key: string): ShardAddress {
    return placeIn(this.newest(store), region, key)!;
  }

  /** The relay of a key; `undefined` if relays were never opened, or have been closed. */
  placeRelay(region: string, key: string): ShardAddress | undefined {
    const row = this.#newest.get("relay");
    return row && placeIn(row, region, key);
  }
}

function placeIn({ generation, regions }: Generation, region: string, key: string): ShardAddress | undefined {
  const name = Object.hasOwn(regions, region) ? region : Object.keys(regions)[0];
  return name === undefined ? undefined : { generation, region: name, shard: fnv1a(key) % regions[name]!.shards };
}

/** **How long tokens, grants and generations of shards live**, whatever the settings are. */

/** An isolate may issue ids by a copy of the table (memory 5 min on KV 5 min), and a replay issues an ID token again within 3 min. */
const settlingMs = 15 * 60_000;

/** From the decision to issue a token, by any isolate, to its expiry. */
export const tokenLifeMs = longestTokenLifetimeSeconds * 1000 + settlingMs;

/** From the creation of a grant to the expiry of its last token: a family used on its last day issues one more access token. */
export const grantLifeMs = longestRefreshTokenLifetimeSeconds * 1000 + tokenLifeMs;

/** The first tokens of a grant are on the shard that was chosen when the person decided. A refresh moves the grant to the newest generation. */
const issuedLifeMs = longestDeviceCodeSeconds * 1000 + tokenLifeMs;

/** The longest lifetime of an id of a store. */
export const idLifeMs: Readonly<Record<ShardedStore, number>> = {
  revocation: issuedLifeMs,
  refresh: grantLifeMs,
  session: grantLifeMs,
  code: issuedLifeMs,
  challenge: issuedLifeMs,
  // No id names a relay.
  relay: settlingMs,
};

/** When no live token or session can name a generation (G2) of which no ids are issued since `mintedUntilMs`. */
export function retirementDueMs(store: ShardedStore, mintedUntilMs: number): number {
  return mintedUntilMs + idLifeMs[store];
}

interface GenerationRow {
  readonly store: ShardedStore;
  readonly generation: number;
  readonly regions: string;
  readonly minted_from_ms: number;
  readonly minted_until_ms: number | null;
  readonly retired: number;
}

/** **Reads the generation table from D1**, its authority; `undefined` if it is empty. */
export async function loadGenerations(database: D1Database): Promise<readonly Generation[] | undefined> {
  const { results } = await generationsStatement(database).all<GenerationRow>();
  return readGenerations(results);
}

/** The generation table: one record. */
export const storedGenerations: StoredKind<readonly Generation[]> = {
  kind: "generations",
  ttlSeconds: 300,
  query: { statement: generationsStatement, read: readGenerations },
};

function readGenerations(rows: readonly object[]): readonly Generation[] | undefined {
  return rows.length === 0 ? undefined : (rows as readonly GenerationRow[]).map(readGeneration);
}

function generationsStatement(database: D1Database): D1PreparedStatement {
  return database.prepare(
    `SELECT store, generation, regions, minted_from_ms, minted_until_ms, retired
       FROM shard_generations ORDER BY store, generation`,
  );
}

function readGeneration(row: GenerationRow): Generation {
  return {
    store: row.store,
    generation: row.generation,
    regions: readStored("regions of a generation", row.regions, areRegions),
    mintedFromMs: row.minted_from_ms,
    mintedUntilMs: row.minted_until_ms ?? undefined,
    retired: row.retired === 1,
  };
}
