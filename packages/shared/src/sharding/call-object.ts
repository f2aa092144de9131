import { limits } from "../config/limits.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { within } from "../runtime/deadline.ts";
import type { RegionShards } from "./generation-table.ts";
import { objectName, type ShardAddress, type ShardedStore } from "./shard-address.ts";

/**
 * **Calls a Durable Object.** Objects return tagged results for everything expected, so whatever is thrown (overloaded,
 * restarting, storage failed, unreachable) and whatever takes too long is unavailability: 503, never an answer.
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

/** The same for a call within a `SharedCall`, whose time limit covers all that is done in it: one timer less. */
export async function withoutTimeLimit<T>(store: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw cause instanceof UnavailableError ? cause : new UnavailableError(store, cause);
  }
}

/** Stub of a shard at an address that the generation table holds; `region` is the row that was found there. */
export function shardStub<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  store: ShardedStore,
  at: ShardAddress,
  region: RegionShards,
): DurableObjectStub<T> {
  return namespace.getByName(objectName(store, at), { locationHint: region.hint });
}
