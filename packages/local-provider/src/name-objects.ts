import { loadGenerations } from "@edge-op/shared/sharding/load-generations";
import { objectName, type ShardedStore } from "@edge-op/shared/sharding/shard-address";
import type { Miniflare } from "miniflare";

/**
 * **Gives every object of the generation table its name**, by a call that contains it. A call from another process contains only the
 * id, so an object that first hears from one would not know its name, which production objects always know. The name is
 * stored, so once is enough for each object.
 */
const bindings: Readonly<Record<ShardedStore, string>> = {
  revocation: "TOKEN_REVOCATION_STORE",
  refresh: "REFRESH_TOKEN_ROTATOR",
  code: "AUTHORIZATION_CODE_STORE",
  session: "SESSION_STORE",
  challenge: "CHALLENGE_STORE",
  relay: "REVOCATION_RELAY",
};

export async function nameObjects(runtime: Miniflare): Promise<void> {
  const generations = (await loadGenerations(await runtime.getD1Database("DB", "op-state"))) ?? [];
  for (const { store, generation, regions } of generations) {
    const namespace = await runtime.getDurableObjectNamespace(bindings[store], "op-state");
    for (const [region, { shards }] of Object.entries(regions)) {
      for (let shard = 0; shard < shards; shard += 1) {
        const name = objectName(store, { generation, region, shard });
        // The objects have no HTTP handler: the call starts the object and is then refused.
        await namespace
          .get(namespace.idFromName(name))
          .fetch("http://object/")
          .catch(() => undefined);
      }
    }
  }
}
