import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "@edge-op/shared/config/limits";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { RelayStatistics } from "@edge-op/shared/leases/relay-rpc";
import type { RevocationStatistics } from "@edge-op/shared/leases/revocation-shard-rpc";
import { log } from "@edge-op/shared/runtime/log";
import { callObject, shardStub } from "@edge-op/shared/storage/call-object";
import type { GenerationTable } from "@edge-op/shared/storage/generation-table";
import { objectName, type ShardAddress } from "@edge-op/shared/storage/shard-address";
import type { ManagementEnv } from "@edge-op/workers/env";
import * as z from "zod";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { exampleOf } from "../admin/examples.ts";

/**
 * **`/admin/shards/revocation/leases`**: the leases that confirmed writes wait for, by shard (docs/operating/confirmed-writes.md). Cost: one object
 * call per live revocation shard and relay, all in parallel.
 */

/** The platform allows about 1,000 calls a request. The newest generations come first. */
const mostCalled = 800;

const count = z.int().min(0);

const statisticsSchema = z
  .strictObject({
    shard: z.string().describe("The name of the object."),
    since: z.int().describe("Start of its current instance, in seconds since the epoch. Counters start there."),
    holders: count.describe("Isolates and relays that hold a lease now."),
    waiting: count.describe("Acknowledgements that are waiting now."),
    leases_granted: count,
    renewals_held: count,
    confirmations: count,
    releases: count,
    waits: z.strictObject({
      count: count.describe("Acknowledgements that had to wait and have completed."),
      longest_ms: count,
      ended_by_confirmation: count.describe("All holders confirmed."),
      ended_by_lease_end: count.describe("A holder did not confirm; its lease ended."),
      boot_fences: count.describe("Waits for the leases of an earlier instance of the object."),
    }),
  })
  .meta({
    id: "ShardLeases",
    examples: [
      {
        ...{ shard: "revocation:g1:wnam:3", since: 1795000000, holders: 2, waiting: 0 },
        ...{ leases_granted: 41, renewals_held: 2, confirmations: 12, releases: 1 },
        waits: { count: 12, longest_ms: 84, ended_by_confirmation: 12, ended_by_lease_end: 0, boot_fences: 0 },
      },
    ],
  });

const relaySchema = statisticsSchema
  .extend({
    covered_shards: count.describe("Live revocation shards on which it has a lease."),
    live_shards: count.describe("Live revocation shards that it knows; 0 while the relay is not used."),
  })
  .meta({ id: "RelayLeases" });

const overviewSchema = z
  .strictObject({
    shards: z.array(statisticsSchema),
    relays: z.array(relaySchema).describe("The relays of the newest generation. Their holders are isolates."),
    unreachable: z.array(z.string()).describe("Shards and relays that did not respond within 2 seconds."),
    not_called: count.describe(`Live shards and relays beyond the ${mostCalled} of the newest generations.`),
  })
  .meta({
    id: "ShardLeasesList",
    examples: [{ shards: [exampleOf(statisticsSchema)], relays: [], unreachable: [], not_called: 0 }],
  });

type Statistics = z.input<typeof statisticsSchema>;

function toResource(shard: string, { waits, ...statistics }: RevocationStatistics): Statistics {
  return {
    shard,
    since: toSeconds(statistics.sinceMs),
    holders: statistics.holders,
    waiting: statistics.waiting,
    leases_granted: statistics.leasesGranted,
    renewals_held: statistics.renewalsHeld,
    confirmations: statistics.confirmations,
    releases: statistics.releases,
    waits: {
      count: waits.count,
      longest_ms: waits.longestMs,
      ended_by_confirmation: waits.endedByConfirmation,
      ended_by_lease_end: waits.endedByLeaseEnd,
      boot_fences: waits.bootFences,
    },
  };
}

function toRelayResource(relay: string, statistics: RelayStatistics): z.input<typeof relaySchema> {
  const { coveredShards, liveShards } = statistics;
  return { ...toResource(relay, statistics), covered_shards: coveredShards, live_shards: liveShards };
}

/** `undefined` if the object does not respond. */
async function readStatistics<Result, Resource>(
  { requestId }: RequestContext<ManagementEnv>,
  name: string,
  call: () => Promise<Result>,
  toResource: (name: string, statistics: Result) => Resource,
): Promise<Resource | undefined> {
  try {
    return toResource(name, await callObject(name, call, limits.statisticsCallMs));
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    log("unavailable", { store: error.store, cause: String(error.cause), requestId });
    return undefined;
  }
}

/** The shards, newest generation first, and the relays that isolates use. */
function objectsToRead(table: GenerationTable) {
  const newest = table.newestGeneration("relay");
  return {
    shards: table.live("revocation").sort((a, b) => b.generation - a.generation),
    relays: table.live("relay").filter(({ generation }) => generation === newest),
  };
}

const list = defineRoute({
  method: "GET",
  path: "/shards/revocation/leases",
  operationId: "listShardLeases",
  summary: "Shows what revocations, sign-outs and administrative changes wait for at each revocation shard and relay.",
  scope: "admin:shards",
  response: { status: 200, description: "The counters of each live shard and relay.", schema: overviewSchema },
  async handle({ context, isolate }) {
    const { env, settings } = context;
    const table = await isolate.shardMap.table(context);
    const live = objectsToRead(table);
    const shards = live.shards.slice(0, mostCalled);
    const relays = live.relays.slice(0, mostCalled - shards.length);
    const readShard = (at: ShardAddress) => {
      const stub = shardStub(settings, env.TOKEN_REVOCATION_STORE, "revocation", at, table.find("revocation", at)!);
      const call = async (): Promise<RevocationStatistics> => await stub.statistics();
      return readStatistics(context, objectName("revocation", at), call, toResource);
    };
    const readRelay = (at: ShardAddress) => {
      const stub = shardStub(settings, env.REVOCATION_RELAY, "relay", at, table.find("relay", at)!);
      const call = async (): Promise<RelayStatistics> => await stub.statistics();
      return readStatistics(context, objectName("relay", at), call, toRelayResource);
    };
    const [readShards, readRelays] = await Promise.all([
      Promise.all(shards.map(readShard)),
      Promise.all(relays.map(readRelay)),
    ]);
    return {
      body: {
        shards: readShards.filter((statistics) => statistics !== undefined),
        relays: readRelays.filter((statistics) => statistics !== undefined),
        unreachable: [
          ...shards.flatMap((at, index) => (readShards[index] === undefined ? [objectName("revocation", at)] : [])),
          ...relays.flatMap((at, index) => (readRelays[index] === undefined ? [objectName("relay", at)] : [])),
        ],
        not_called: live.shards.length + live.relays.length - shards.length - relays.length,
      },
    };
  },
});

export const leaseRoutes: readonly AdminRoute[] = [list];
