import { LeaseHolders } from "../../packages/op-state/src/leases/lease-holders.ts";
import { RelayMachine } from "../../packages/op-state/src/relay/relay-machine.ts";
import { UpstreamShard } from "../../packages/op-state/src/relay/upstream-shard.ts";
import { RevocationMachine } from "../../packages/op-state/src/revocation/revocation-machine.ts";
import { leaseTiming, outlast } from "../../packages/shared/src/config/lease-timing.ts";
import { RelayReplica } from "../../packages/shared/src/leases/relay-replica.ts";
import { ShardReplica } from "../../packages/shared/src/leases/shard-replica.ts";
import { currentTask } from "./platform.ts";
import { around, type Restore, restoreAll } from "./replace-method.ts";
import type { SimulatedWorld } from "./simulated-world.ts";

/**
 * **Compares the end of each lease at its holder with its end at its servers, in real time** (I2), and the waits of acknowledgements with the longest
 * lease (L2). Used only while clocks keep their rates: otherwise an end in real time is not known in advance.
 */
export function observeLeases(world: SimulatedWorld): Restore {
  /** By holder: when its server considers its last lease ended. */
  const endsMs = new Map<string, number>();
  /** By relay and shard: the same of the relay's own lease. */
  const upstreamMs = new WeakMap<RelayMachine, Map<string, number>>();
  /** By holder of a relay's lease and shard: when the shard considers the lease of the relay ended. */
  const coveredMs = new Map<string, number>();
  let longestMs = 0;
  const realOf = (localMs: number) => currentTask().machine.clock.realOf(localMs);
  const compare = (untilMs: number, endMs: number | undefined, server: string) => {
    if (untilMs > Number.NEGATIVE_INFINITY && realOf(untilMs) > (endMs ?? 0))
      world.violate(`I2: a lease outlives the ${server}'s`);
  };
  return restoreAll([
    around(LeaseHolders, "give", (_self, give, holder, seq, endMs) => {
      give(holder, seq, endMs);
      endsMs.set(holder, Math.max(endsMs.get(holder) ?? 0, realOf(endMs)));
    }),
    around(RevocationMachine, "lease", (_self, lease, request, heldMs, nowMs) => {
      const response = lease(request, heldMs, nowMs);
      if (response.kind === "lease") longestMs = Math.max(longestMs, response.leaseMs);
      if (heldMs > 0) world.count("heldRenewals");
      if (response.kind === "checkOnly") world.count("checkOnly");
      else if (response.filter !== undefined) world.count("filtersSent");
      if (response.changes?.some(({ record }) => record !== undefined)) world.count("recordsSent");
      return response;
    }),
    around(RevocationMachine, "startWait", (_self, startWait, nowMs) => {
      const wait = startWait(nowMs);
      const { leasesMs, fenceMs } = wait;
      const { marginMs, horizonStepMs, maxLeaseMs } = leaseTiming;
      if (leasesMs > Math.ceil(outlast(leaseTiming, longestMs) + marginMs))
        world.violate("L2: a wait is longer than any lease");
      if (fenceMs > Math.ceil(outlast(leaseTiming, horizonStepMs + maxLeaseMs) + marginMs))
        world.violate("L2: a fence is too long");
      return wait;
    }),
    around(ShardReplica, "install", (self, install, lease, request, sentAtMs) => {
      const before = self.validUntilMs;
      install(lease, request, sentAtMs);
      if (self.validUntilMs > before) compare(self.validUntilMs, endsMs.get(request.holder), "shard");
    }),
    around(UpstreamShard, "install", (self, install, response, request, sentAtMs, version) => {
      const isNews = install(response, request, sentAtMs, version);
      const nowMs = Date.now();
      const leftMs = self.leftMs(nowMs);
      if (leftMs > 0 && request.holder === self.holder) compare(nowMs + leftMs, endsMs.get(request.holder), "shard");
      return isNews;
    }),
    around(RelayMachine, "install", (self, install, name, response, request, sentAtMs) => {
      const isNews = install(name, response, request, sentAtMs);
      const ends = upstreamMs.get(self) ?? new Map<string, number>();
      upstreamMs.set(self, ends);
      ends.set(name, Math.max(ends.get(name) ?? 0, endsMs.get(request.holder) ?? 0));
      return isNews;
    }),
    around(RelayMachine, "lease", (self, lease, request, heldMs, nowMs) => {
      const response = lease(request, heldMs, nowMs);
      if (response.againMs !== undefined) world.count("paced");
      if (response.changes?.some(({ record }) => record !== undefined)) world.count("recordsRelayed");
      for (const { name, isCovered } of response.shards) {
        if (!isCovered) continue;
        const key = `${request.holder} ${name}`;
        coveredMs.set(key, Math.max(coveredMs.get(key) ?? 0, upstreamMs.get(self)?.get(name) ?? 0));
      }
      return response;
    }),
    around(RelayReplica, "install", (self, install, response, request, sentAtMs, replicaOf) => {
      const before = new Map(response.shards.map(({ name }) => [name, self.validUntilMs(name)]));
      install(response, request, sentAtMs, replicaOf);
      for (const [name, beforeMs] of before) {
        const untilMs = self.validUntilMs(name);
        if (untilMs <= beforeMs) continue;
        compare(untilMs, endsMs.get(request.holder), "relay");
        compare(untilMs, coveredMs.get(`${request.holder} ${name}`), "shard");
      }
    }),
  ]);
}
