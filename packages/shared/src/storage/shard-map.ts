import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { isolateMemory } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type Generation, GenerationTable, type RegionShards, storedGenerations } from "./generation-table.ts";
import { ReadThrough, type StorageBindings } from "./read-through.ts";
import { everyId, type RecordVersions } from "./record-kinds.ts";
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

/**
 * **Finds the configured region nearest to a request**: by the coordinates that Cloudflare reports, else by continent, else the first. Distances are
 * great-circle distances to a central point of the region's location hint.
 *
 * @see https://developers.cloudflare.com/durable-objects/reference/data-location/#provide-a-location-hint
 */

interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

const hintPoints: Readonly<Record<DurableObjectLocationHint, Point>> = {
  wnam: { latitude: 37.4, longitude: -121.9 },
  enam: { latitude: 39.0, longitude: -77.5 },
  sam: { latitude: -23.5, longitude: -46.6 },
  weur: { latitude: 50.1, longitude: 4.4 },
  eeur: { latitude: 50.1, longitude: 19.9 },
  apac: { latitude: 22.3, longitude: 114.2 },
  "apac-ne": { latitude: 35.7, longitude: 139.7 },
  "apac-se": { latitude: 1.4, longitude: 103.8 },
  oc: { latitude: -33.9, longitude: 151.2 },
  afr: { latitude: -26.2, longitude: 28.0 },
  me: { latitude: 25.2, longitude: 55.3 },
};

const continentPoints: Readonly<Record<string, Point>> = {
  AF: { latitude: 1.0, longitude: 17.0 },
  AS: { latitude: 29.0, longitude: 95.0 },
  EU: { latitude: 50.0, longitude: 10.0 },
  NA: { latitude: 39.0, longitude: -95.0 },
  OC: { latitude: -27.0, longitude: 140.0 },
  SA: { latitude: -15.0, longitude: -58.0 },
};

type RequestOrigin = Partial<Pick<IncomingRequestCfProperties, "continent" | "latitude" | "longitude">>;

/** Name of the nearest region; if regions are equally near or the origin is unknown, the first in the generation's order. */
export function nearestRegion(
  origin: RequestOrigin | undefined,
  regions: Readonly<Record<string, RegionShards>>,
): string | undefined {
  const names = Object.keys(regions);
  const from = originPoint(origin);
  if (from === undefined || names.length < 2) return names[0];
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = angle(from, hintPoints[regions[name]!.hint]);
    if (distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}

function originPoint(origin: RequestOrigin | undefined): Point | undefined {
  if (origin?.latitude && origin.longitude) {
    const point = { latitude: Number(origin.latitude), longitude: Number(origin.longitude) };
    if (Math.abs(point.latitude) <= 90 && Math.abs(point.longitude) <= 180) return point;
  }
  const continent = origin?.continent;
  return continent !== undefined && Object.hasOwn(continentPoints, continent) ? continentPoints[continent] : undefined;
}

/** Central angle between two points in radians (spherical law of cosines). */
function angle(a: Point, b: Point): number {
  const radians = Math.PI / 180;
  const [from, to] = [a.latitude * radians, b.latitude * radians];
  const cosine =
    Math.sin(from) * Math.sin(to) + Math.cos(from) * Math.cos(to) * Math.cos((b.longitude - a.longitude) * radians);
  return Math.acos(Math.min(1, Math.max(-1, cosine)));
}
