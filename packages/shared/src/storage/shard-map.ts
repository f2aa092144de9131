import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { isolateMemory } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type Generation, GenerationTable, type RegionShards } from "./generation-table.ts";
import { storedGenerations } from "./load-generations.ts";
import { ReadThrough, type StorageBindings } from "./read-through.ts";
import { everyId, type RecordVersions } from "./record-kinds.ts";
import { nearestRegion } from "./regions.ts";
import { type NamedStore, objectName, type ShardAddress, type ShardedStore } from "./shard-address.ts";

/** An unverified id reloads the table at most this often per isolate. */
const unverifiedReloadMs = 1_000;

/**
 * **Routes ids to shards** by the isolate's copy of the generation table (memory 5 min, KV, D1; kept current by the control version): the shard of an
 * existing id and the shard for a new one. Refuses addresses outside the table before any object is addressed (docs/reference/protocols.md §1, G1).
 * Cost warm: 0.
 *
 * A cold isolate selects the shard that confirms the control version by KV's copy, which is at most 5 min old: the generation that was newest then is
 * live for a day after its successor is opened, so the shard receives every change.
 */
export class ShardMap {
  readonly #generations: ReadThrough<readonly Generation[]>;
  #built: { readonly from: readonly Generation[]; readonly table: GenerationTable } | undefined;
  #reloadedAtMs = Number.NEGATIVE_INFINITY;

  constructor(control: RecordVersions) {
    this.#generations = ReadThrough.ofWhole(control, {
      ...storedGenerations,
      usesUnjudged: true,
      maxBytes: isolateMemory.generations,
    });
  }

  /** Reads the table for a request that will need it; from D1 if KV has no copy, because no caller names it. Never fails. */
  async readAhead(context: RequestContext<StorageBindings>): Promise<void> {
    await this.#generations.find(context, everyId).catch(() => undefined);
  }

  async table(context: RequestContext<StorageBindings>): Promise<GenerationTable> {
    return this.#build(await this.#generations.find(context, everyId));
  }

  /** The table as D1 has it now, also with a generation that was opened elsewhere a moment ago. Cost: 1 D1 call. */
  async newestTable(context: RequestContext<StorageBindings>): Promise<GenerationTable> {
    return this.#reload(context);
  }

  /**
   * The region's row of an address of a **verified** id; `undefined` if its generation has been retired, so that the id has
   * expired. An unknown generation reloads the table once (G3). If the table still has no such shard, D1 has lost a generation in
   * which ids were issued (ADR 11): unavailable until `ControlPlane` has listed it again.
   */
  async locate(
    context: RequestContext<StorageBindings>,
    store: ShardedStore,
    address: ShardAddress,
  ): Promise<RegionShards | undefined> {
    let table = await this.table(context);
    if (!table.knows(store, address.generation)) table = await this.#reload(context);
    const region = table.find(store, address);
    if (region === undefined && !table.isRetired(store, address.generation)) {
      throw new UnavailableError("generation table", new Error(`${objectName(store, address)} is not in the table`));
    }
    return region;
  }

  /** Like {@link locate}, for an unverified id: `undefined` outside the table (G1), and at most one reload a second, because the id may be forged. */
  async locateUnverified(
    context: RequestContext<StorageBindings>,
    store: ShardedStore,
    address: ShardAddress,
  ): Promise<RegionShards | undefined> {
    const table = await this.table(context);
    if (table.knows(store, address.generation)) return table.find(store, address);
    if (context.arrivedAtMs < this.#reloadedAtMs + unverifiedReloadMs) return undefined;
    return (await this.#reload(context)).find(store, address);
  }

  /** The address for a new id: newest generation, region nearest to the request, the key's shard. */
  async place(context: RequestContext<StorageBindings>, store: NamedStore, key: string): Promise<ShardAddress> {
    const table = await this.table(context);
    const { regions } = table.newest(store);
    // Reading `cf` parses it, which is unnecessary if there is only one region.
    const region = Object.keys(regions).length === 1 ? undefined : nearestRegion(context.cf, regions);
    return table.place(store, region ?? "", key);
  }

  /** The address of the same key in the newest generation, in its region; `at` itself while no newer generation is known. */
  async placeAgain(
    context: RequestContext<StorageBindings>,
    store: NamedStore,
    at: ShardAddress,
    key: string,
  ): Promise<ShardAddress> {
    const table = await this.table(context);
    return table.newest(store).generation > at.generation ? table.place(store, at.region, key) : at;
  }

  /** The relay for an isolate with this key, nearest to the request; `undefined` if there are no relays. */
  async placeRelay(context: RequestContext<StorageBindings>, key: string): Promise<ShardAddress | undefined> {
    const table = await this.table(context);
    return table.placeRelay(nearestRegion(context.cf, table.newestRegions("relay")) ?? "", key);
  }

  async #reload(context: RequestContext<StorageBindings>): Promise<GenerationTable> {
    this.#reloadedAtMs = context.arrivedAtMs;
    return this.#build(await this.#generations.reload(context, everyId));
  }

  #build(generations: readonly Generation[] | undefined): GenerationTable {
    if (generations === undefined) throw new UnavailableError("generation table", new Error("D1 has no generations"));
    if (this.#built?.from !== generations) {
      this.#built = { from: generations, table: new GenerationTable(generations) };
    }
    return this.#built.table;
  }
}
