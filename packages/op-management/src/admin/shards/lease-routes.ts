import { limits } from "@edge-op/shared/config/limits";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { UnavailableError } from "@edge-op/shared/oauth/errors";
import type { RevocationStatistics } from "@edge-op/shared/objects/token-revocation-store";
import { toSeconds } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { callObject, shardStub } from "@edge-op/shared/sharding/call-object";
import type { GenerationTable } from "@edge-op/shared/sharding/generation-table";
import { objectName, type ShardAddress } from "@edge-op/shared/sharding/shard-address";
import * as z from "zod";
import type { ManagementEnv } from "../../management-env.ts";
import { type AdminRoute, defineRoute } from "../api/define-route.ts";

/**
 * **`/admin/shards/revocation/leases`**: what confirmed writes wait for, by shard (docs/operating/confirmed-writes.md). Cost: one object call
 * for each live revocation shard, all at once.
 */

/** The platform allows about 1,000 calls a request. The newest generations come first. */
const mostCalled = 800;

const count = z.int().min(0);

const statisticsSchema = z
  .strictObject({
    shard: z.string().describe("The name of the object."),
    since: z.int().describe("Seconds since the epoch: when its present instance started. Counters begin there."),
    holders: count.describe("Isolates that hold a lease now."),
    waiting: count.describe("Acknowledgements that wait now."),
    leases_granted: count,
    renewals_held: count,
    confirmations: count,
    releases: count,
    waits: z.strictObject({
      count: count.describe("Acknowledgements that had to wait, and are over."),
      longest_ms: count,
      ended_by_confirmation: count.describe("All holders confirmed."),
      ended_by_lease_end: count.describe("A holder did not confirm; its lease ended."),
      boot_fences: count.describe("Waits for the leases of an earlier instance of the object."),
    }),
  })
  .meta({ id: "ShardLeases" });

const overviewSchema = z
  .strictObject({
    shards: z.array(statisticsSchema),
    unreachable: z.array(z.string()).describe("Shards that did not respond within 2 seconds."),
    not_called: count.describe(`Live shards beyond the ${mostCalled} of the newest generations.`),
  })
  .meta({ id: "ShardLeasesList" });

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

/** `undefined` when the shard does not respond. */
async function readStatistics(
  { env, settings, requestId }: RequestContext<ManagementEnv>,
  table: GenerationTable,
  address: ShardAddress,
): Promise<Statistics | undefined> {
  const name = objectName("revocation", address);
  const stub = shardStub(
    settings,
    env.TOKEN_REVOCATION_STORE,
    "revocation",
    address,
    table.find("revocation", address)!,
  );
  try {
    const call = async (): Promise<RevocationStatistics> => await stub.statistics();
    return toResource(name, await callObject(name, call, limits.statisticsCallMs));
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    log("unavailable", { store: error.store, cause: String(error.cause), requestId });
    return undefined;
  }
}

const list = defineRoute({
  method: "GET",
  path: "/shards/revocation/leases",
  operationId: "listShardLeases",
  summary: "Shows what revocations, sign-outs and administrative changes wait for at each revocation shard.",
  scope: "admin:shards",
  response: { status: 200, description: "The counters of each live shard.", schema: overviewSchema },
  async handle({ context, isolate }) {
    const table = await isolate.shardMap.table(context);
    const live = table.live("revocation").sort((a, b) => b.generation - a.generation);
    const called = live.slice(0, mostCalled);
    const read = await Promise.all(called.map((address) => readStatistics(context, table, address)));
    return {
      body: {
        shards: read.filter((statistics) => statistics !== undefined),
        unreachable: called.flatMap((address, index) =>
          read[index] === undefined ? [objectName("revocation", address)] : [],
        ),
        not_called: live.length - called.length,
      },
    };
  },
});

export const leaseRoutes: readonly AdminRoute[] = [list];
