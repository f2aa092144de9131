import { limits } from "../config/limits.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { within } from "../runtime/deadline.ts";
import type { RegionShards } from "./generation-table.ts";
import { objectName, type ShardAddress, type ShardedStore } from "./shard-address.ts";

/**
 * **Calls a Durable Object within a time limit.** Objects return tagged results for every expected case, so anything thrown
 * (overloaded, restarting, failed storage, unreachable) and a timeout are unavailability: 503.
 */
export async function callObject<T>(
  store: string,
  call: () => Promise<T>,
  timeoutMs: number = limits.objectCallMs,
): Promise<T> {
  const limited = () =>
    within(timeoutMs, call(), () => {
      throw new Error(`no response within ${timeoutMs} ms`);
    });
  return withoutTimeLimit(store, limited);
}

/** The same without a time limit, for a call within a `SharedCall`, which has one. */
export async function withoutTimeLimit<T>(store: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw cause instanceof UnavailableError ? cause : new UnavailableError(store, cause);
  }
}

/** The stub of a shard at an address in the generation table; `region` is its row there. */
export function shardStub<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  store: ShardedStore,
  at: ShardAddress,
  region: RegionShards,
): DurableObjectStub<T> {
  return namespace.getByName(objectName(store, at), { locationHint: region.hint });
}
