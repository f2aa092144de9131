/**
 * **`/admin/shards/generations`**: the number of shards of each store. Opening a generation moves nothing, because ids contain their shard. Cost: a
 * read 1 D1 call; opening 1 D1 call and the control plane's calls of the live shards.
 */

import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { hintsWithin, type Jurisdiction, locationHints } from "@edge-op/shared/config/setting-values";
import { controlPlane } from "@edge-op/shared/control/commit-control-change";
import { controlCallMs } from "@edge-op/shared/control/control-plane-rpc";
import { operationId } from "@edge-op/shared/http/request-context";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { callObject } from "@edge-op/shared/storage/call-object";
import {
  type Generation,
  loadGenerations,
  type RegionShards,
  retirementDueMs,
} from "@edge-op/shared/storage/generation-table";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type ShardedStore, shardedStores } from "@edge-op/shared/storage/shard-address";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";

const path = "/shards/generations";
const scope = "admin:shards";

/** Every change of the control version calls each of them; the platform allows about 1,000 calls a request. */
const mostShards = 512;

/** A refresh family may move once in each generation that is live, and is followed through at most this many. */
const mostLiveGenerations = 16;
/** Limits the shards of the revocation store in all live generations, to stay below the platform's 1,000 calls per request. */
const mostLiveShards = 900;

const shardsSchema = z.int().min(1).max(mostShards);

const regionSchema = z.strictObject({
  shards: shardsSchema,
  hint: z.enum(locationHints).describe("Where its objects are created."),
});

const regionNameSchema = z.string().regex(/^[a-z]{2,8}$/, "must be 2 to 8 lower-case letters");

/** A region named like a location hint needs no other hint; without a number of shards, it gets that of the opening. */
const openedRegionSchema = regionSchema.partial();

const openSchema = z
  .strictObject({
    store: z.enum(shardedStores),
    regions: z
      .union([z.record(regionNameSchema, openedRegionSchema), z.array(z.enum(locationHints)).min(1)])
      .optional()
      .describe(
        "Its regions by name, or a list of location hints; by default those of the newest generation. None (`{}`) closes the relays.",
      ),
    shards: shardsSchema.optional().describe("Shards of each region without its own number."),
  })
  .meta({ id: "GenerationOpening" });

type Regions = Readonly<Record<string, RegionShards>>;

/** The regions of an opening. `current` are those of the newest generation. */
function requestedRegions(
  { store, regions, shards }: z.output<typeof openSchema>,
  current: Regions,
  jurisdiction: Jurisdiction,
): Regions {
  const named: [string, z.output<typeof openedRegionSchema>][] = Array.isArray(regions)
    ? regions.map((hint) => [hint, { hint }])
    : Object.entries(regions ?? current).map(([name, region]) => [name, regions ? region : { hint: region.hint }]);
  const entries = named.map(([name, region]): [string, RegionShards] => {
    const hint = region.hint ?? locationHints.find((candidate) => candidate === name);
    const own = region.shards ?? shards;
    if (hint === undefined) throw invalidFields([{ path: `regions.${name}.hint`, message: "is required" }]);
    const allowed: readonly string[] = hintsWithin[jurisdiction];
    if (!allowed.includes(hint)) {
      const message = `must be one of ${allowed.join(", ")} in the jurisdiction ${jurisdiction}`;
      throw invalidFields([{ path: `regions.${name}.hint`, message }]);
    }
    if (own === undefined) throw invalidFields([{ path: "shards", message: "is required" }]);
    return [name, { shards: own, hint }];
  });
  const total = countShards(Object.fromEntries(entries));
  // A generation of relays without regions closes the relays.
  const mayBeEmpty = store === "relay" && regions !== undefined;
  if (entries.length === 0 && !mayBeEmpty) throw invalidFields([{ path: "regions", message: "must name a region" }]);
  if (total > mostShards) {
    throw invalidFields([{ path: "regions", message: `must have at most ${mostShards} shards together` }]);
  }
  return Object.fromEntries(entries);
}

const generationSchema = z
  .strictObject({
    store: z.enum(shardedStores),
    generation: z.int(),
    regions: z.record(z.string(), regionSchema),
    minted_from: z.int().describe("Seconds since the epoch."),
    minted_until: z.int().optional().describe("Seconds since the epoch; absent while it is the newest."),
    retires_at: z
      .int()
      .optional()
      .describe(
        "When nothing that names it can be alive: then it is retired. Seconds since the epoch; absent while it is the newest.",
      ),
    retired: z.boolean().describe("No live token or session refers to it."),
  })
  .meta({
    id: "Generation",
    examples: [
      {
        ...{ store: "revocation", generation: 2, regions: { wnam: { shards: 16, hint: "wnam" } } },
        ...{ minted_from: 1795000000, retired: false },
      },
    ],
  });

async function listGenerations(database: D1Database): Promise<z.input<typeof generationSchema>[]> {
  const generations = (await queryDatabase(() => loadGenerations(database))) ?? [];
  return generations.map(({ store, generation, regions, mintedFromMs, mintedUntilMs, retired }) => ({
    store,
    generation,
    // The table contains the regions that this API has opened.
    regions: regions as Record<string, z.input<typeof regionSchema>>,
    minted_from: toSeconds(mintedFromMs),
    ...(mintedUntilMs === undefined
      ? {}
      : { minted_until: toSeconds(mintedUntilMs), retires_at: toSeconds(retirementDueMs(store, mintedUntilMs)) }),
    retired,
  }));
}

function countShards(regions: Regions): number {
  return Object.values(regions).reduce((sum, { shards }) => sum + shards, 0);
}

/** A generation is live until nothing refers to it: about a day, or for `refresh` and `session` a year (G2). */
function refuseTooMany(table: readonly Generation[], store: ShardedStore, regions: Regions): void {
  const live = table.filter((row) => row.store === store && !row.retired);
  if (live.length >= mostLiveGenerations) {
    const description = `The store ${store} has ${live.length} live generations. Open one when the oldest is retired.`;
    throw new OAuthError("conflict", "generations-too-many", { description });
  }
  const shards = live.reduce((sum, row) => sum + countShards(row.regions), countShards(regions));
  if (store === "revocation" && shards > mostLiveShards) {
    const description = `The live generations of ${store} would have ${shards} shards together; at most ${mostLiveShards} are allowed.`;
    throw new OAuthError("conflict", "shards-too-many", { description });
  }
}

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listGenerations",
  summary: "Lists the generations of every sharded store.",
  scope,
  response: {
    status: 200,
    description: "The generations.",
    schema: z.strictObject({ generations: z.array(generationSchema) }).meta({ id: "GenerationList" }),
  },
  async handle({ context }) {
    return { body: { generations: await listGenerations(context.env.DB) } };
  },
});

const open = defineRoute({
  method: "POST",
  path,
  operationId: "openGeneration",
  summary: "Opens a generation: new ids use it immediately; existing ids keep working in their generation.",
  scope,
  body: openSchema,
  response: { status: 201, description: "The new generation.", schema: generationSchema },
  async handle(call) {
    const { env, settings } = call.context;
    const { store } = call.body;
    const table = await call.isolate.shardMap.table(call.context);
    const regions = requestedRegions(call.body, table.newestRegions(store), settings.jurisdiction);
    refuseTooMany(table.all, store, regions);
    await commitChange(call, {
      statements: [],
      forget: [],
      event: { action: "generation.open", target: store, detail: { regions } },
    });
    const opening = { store, regions, operationId: operationId(call.context) };
    const { generation }: { readonly generation: number } = await callObject(
      "control plane",
      () => controlPlane(call.context).openGeneration(opening),
      controlCallMs,
    );
    const opened = (await listGenerations(env.DB)).find((row) => row.store === store && row.generation === generation);
    if (opened === undefined)
      throw new Error(`generation ${generation} of ${store} was opened and is not in the table`);
    return { body: opened };
  },
});

export const generationRoutes: readonly AdminRoute[] = [list, open];
