import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { areRegions } from "@edge-op/shared/storage/generation-table";
import { objectName, type ShardedStore } from "@edge-op/shared/storage/shard-address";
import type { Miniflare } from "miniflare";
import { executeStatements, startObjects } from "./store-worker.ts";

const bindings: Readonly<Record<ShardedStore, string>> = {
  revocation: "TOKEN_REVOCATION_STORE",
  refresh: "REFRESH_TOKEN_ROTATOR",
  code: "AUTHORIZATION_CODE_STORE",
  session: "SESSION_STORE",
  challenge: "CHALLENGE_STORE",
  relay: "REVOCATION_RELAY",
};

/**
 * **Gives every object of the generation table its name**, by a call that contains it. A call from another process contains only the id, so an object
 * whose first call is such a call would not know its name, which production objects always know. The object stores its name, so one call is enough.
 */
export async function nameObjects(runtime: Miniflare): Promise<void> {
  const sql = "SELECT store, generation, regions FROM shard_generations";
  const [rows] = await executeStatements(runtime, "DB", [{ sql }]);
  const objects = rows!.flatMap((row) => {
    const store = row["store"] as ShardedStore;
    const regions = readStored("regions of a generation", String(row["regions"]), areRegions);
    return Object.entries(regions).flatMap(([region, { shards }]) =>
      Array.from({ length: shards }, (_, shard) => ({
        binding: bindings[store],
        name: objectName(store, { generation: Number(row["generation"]), region, shard }),
      })),
    );
  });
  await startObjects(runtime, objects);
}
