import { leaseTiming, longestWaitMs } from "../config/lease-timing.ts";
import { limits } from "../config/limits.ts";
import type { Settings } from "../config/settings.ts";
import type { ReadCondition } from "../control/read-set.ts";
import type { RevokeRequest } from "../grants/grant-revocation.ts";
import { callObject } from "../storage/call-object.ts";
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

interface WaitingCall<T> {
  call(): Promise<T>;
  /** A call to which the object responds at once, even while it waits. */
  probe(): Promise<unknown>;
  /** How long the object may wait before it responds. */
  readonly waitMs: number;
}

/**
 * **Calls an object that may wait before it responds**: a revocation shard waits for leases of up to 10 s. A hanging object is not waited for that
 * long, because callers of `/revoke` give up earlier: after `objectCallMs` it is probed, and if the probe fails the call has failed, 6.5 s after it
 * began. Cost: 1 object call, and 1 more after 5 s.
 */
export async function callWaitingObject<T>(store: string, { call, probe, waitMs }: WaitingCall<T>): Promise<T> {
  if (waitMs === 0) return callObject(store, call);
  const hung = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    callObject(store, probe, limits.probeMs).catch(hung.reject);
  }, limits.objectCallMs);
  try {
    return await Promise.race([callObject(store, call, limits.objectCallMs + waitMs), hung.promise]);
  } finally {
    clearTimeout(timer);
  }
}
