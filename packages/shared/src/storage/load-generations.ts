import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { areRegions, type Generation } from "./generation-table.ts";
import type { StoredKind } from "./record-query.ts";
import type { ShardedStore } from "./shard-address.ts";

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
