import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { areRegions, type Generation, type RegionShards } from "@edge-op/shared/storage/generation-table";
import type { ShardedStore } from "@edge-op/shared/storage/shard-address";

/** A generation that was opened, whether or not D1 still lists it. */
export interface OpenedGeneration {
  readonly store: ShardedStore;
  readonly generation: number;
  readonly regions: Readonly<Record<string, RegionShards>>;
  readonly retired: boolean;
}

/**
 * **Every generation of shards that was opened**, stored outside D1, which can be restored to a moment before an opening (ADR 11). Isolates may still
 * use such a generation, and issued ids name it, so it is listed again and its number is not reused.
 *
 *   opened_generation(store, generation, regions, retired)   never deleted: one row per opening by an administrator
 */
export class OpenedGenerations {
  readonly #sql: SqlStorage;

  /** The ledger's `opening` may contain generations that a release without this table has opened. */
  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS opened_generation (
        store TEXT NOT NULL, generation INTEGER NOT NULL, regions TEXT NOT NULL, retired INTEGER NOT NULL,
        PRIMARY KEY (store, generation)) WITHOUT ROWID;
      INSERT OR IGNORE INTO opened_generation SELECT store, generation, regions, 0 FROM opening;`);
  }

  all(): OpenedGeneration[] {
    return this.#sql
      .exec<{ store: ShardedStore; generation: number; regions: string; retired: number }>(
        "SELECT store, generation, regions, retired FROM opened_generation ORDER BY store, generation",
      )
      .toArray()
      .map((row) => ({
        ...row,
        regions: readStored("regions of a generation", row.regions, areRegions),
        retired: row.retired === 1,
      }));
  }

  add({ store, generation, regions, retired }: OpenedGeneration): void {
    this.#sql.exec(
      `INSERT INTO opened_generation VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET regions = excluded.regions, retired = excluded.retired`,
      store,
      generation,
      JSON.stringify(regions),
      retired ? 1 : 0,
    );
  }

  markRetired(store: ShardedStore, generation: number): void {
    this.#sql.exec("UPDATE opened_generation SET retired = 1 WHERE store = ? AND generation = ?", store, generation);
  }

  /** D1 is the authority for the generations that it lists. Writes only changes. */
  note(table: readonly Generation[]): void {
    const known = new Map(this.all().map((row) => [rowKey(row), row]));
    for (const row of table) {
      const before = known.get(rowKey(row));
      const isKnown = before?.retired === row.retired && JSON.stringify(before.regions) === JSON.stringify(row.regions);
      if (!isKnown) this.add(row);
    }
  }
}

function rowKey({ store, generation }: Pick<OpenedGeneration, "store" | "generation">): string {
  return `${store}:${generation}`;
}

/** The generations that D1 does not list, oldest first. */
export function lostGenerations(
  opened: readonly OpenedGeneration[],
  table: readonly Generation[],
): readonly OpenedGeneration[] {
  const listed = new Set(table.map(rowKey));
  return opened.filter((row) => !listed.has(rowKey(row))).sort((a, b) => a.generation - b.generation);
}
