import { leaseTiming, longestWaitMs } from "../config/lease-timing.ts";
import type { Settings } from "../config/settings.ts";
import type { ReadCondition } from "../control/read-set.ts";
import type { RevokeRequest } from "../grants/revoked-row.ts";
import { callWaitingObject } from "../storage/call-waiting-object.ts";
import type { RevocationShard } from "./revocation-shard-rpc.ts";

type Shard = Pick<RevocationShard, "revoke" | "statistics">;

/**
 * **Revokes at a shard, and waits until the revocation is in force** (I1): every holder of a lease has confirmed it, or its lease has ended. In the
 * mode `bounded` it resolves when the revocation is durable. `shard` makes a stub, which may fail as a call does. Cost: 1 object call, and 1 more
 * after 5 s.
 */
export function confirmRevocation(
  { revocationMode, leaseMs }: Pick<Settings, "revocationMode" | "leaseMs">,
  shard: () => Shard,
  requests: readonly RevokeRequest[],
  sinceCv?: number,
  condition?: ReadCondition,
): ReturnType<Shard["revoke"]> {
  const wait = revocationMode !== "bounded";
  return callWaitingObject("revocation", {
    call: async () => await shard().revoke(requests, wait, sinceCv, condition),
    probe: async () => await shard().statistics(),
    waitMs: wait ? longestWaitMs(leaseTiming, leaseMs) : 0,
  });
}
