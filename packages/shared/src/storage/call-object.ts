import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import { isLocationHint } from "../config/setting-values.ts";
import type { Settings } from "../config/settings.ts";
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

/** Like {@link callObject}, without a time limit, for a call within a `SharedCall`, which has one. */
export async function withoutTimeLimit<T>(store: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw cause instanceof UnavailableError ? cause : new UnavailableError(store, cause);
  }
}

/** The stub of a shard at an address; `region` is its row in the generation table, if the caller has it. */
export function shardStub<T extends Rpc.DurableObjectBranded>(
  settings: Placement,
  namespace: DurableObjectNamespace<T>,
  store: ShardedStore,
  at: ShardAddress,
  region?: RegionShards,
): DurableObjectStub<T> {
  // Without the row, the region's name is tried: regions are usually named like their hint.
  const hint = region?.hint ?? (isLocationHint(at.region) ? at.region : settings.region);
  return objectStub(settings, namespace, objectName(store, at), hint);
}

type Placement = Pick<Settings, "region" | "jurisdiction">;

/** **The stub of an object by its name**: every call of an object begins here, so that every object is created in the configured location. */
export function objectStub<T extends Rpc.DurableObjectBranded>(
  { region, jurisdiction }: Placement,
  namespace: DurableObjectNamespace<T>,
  name: string,
  hint: DurableObjectLocationHint = region,
): DurableObjectStub<T> {
  const within = jurisdiction === "none" ? namespace : namespace.jurisdiction(jurisdiction);
  return within.getByName(name, { locationHint: hint });
}
