import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { areRegions } from "@edge-op/shared/storage/generation-table";
import { objectName, type ShardedStore } from "@edge-op/shared/storage/shard-address";
import type { Miniflare, V4WorkerOptions } from "miniflare";
import type { Builds, esModules } from "./builds.ts";
import type { Distances } from "./distant-stores.ts";
import { executeStatements, startObjects } from "./store-worker.ts";

/**
 * **The secrets of a local deployment**, generated once and stored beside its state, readable only by the owner. Editing the file replaces the master
 * key (docs/operating/rotate-keys.md).
 */
export interface DevelopmentSecrets extends MasterKeyBindings {
  readonly adminClientSecret: string;
}

const areSecrets = objectOf<DevelopmentSecrets>({ OP_MASTER_KEY: isText, adminClientSecret: isText });

export function loadDevelopmentSecrets(stateDir: string): DevelopmentSecrets {
  const path = join(stateDir, "secrets.json");
  if (existsSync(path)) return readStored(path, readFileSync(path, "utf8"), areSecrets);
  const secrets: DevelopmentSecrets = {
    OP_MASTER_KEY: randomBytes(32).toString("base64url"),
    adminClientSecret: randomBytes(32).toString("base64url"),
  };
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileSync(path, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}

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

/** The round trips of a deployment whose stores are on another continent than most of its requests. */
export const typicalDistances: Distances = { object: 80, kv: 30, d1: 80 };

/**
 * **Workers whose stores are at a distance**, for measurements and tests: their modules are unchanged, and a module in front of them delays each call
 * to a store. Additional isolates are in the second region, if there is one.
 */
export async function placeWorkers(
  builds: Builds,
  workers: readonly V4WorkerOptions[],
  distances: Distances,
): Promise<V4WorkerOptions[]> {
  const distantStores = await builds.distantStores();
  return workers.map(({ modules, ...worker }): V4WorkerOptions => {
    const [main, ...others] = modules as ReturnType<typeof esModules>;
    const isFar = distances.far !== undefined && worker.name!.includes("#");
    return {
      ...worker,
      modules: [
        { ...main!, contents: frontModule(exportsOf(main!.contents), distances, isFar) },
        { ...main!, path: "worker.js" },
        { ...main!, path: "distant-stores.js", contents: distantStores },
        ...others,
      ],
    } as V4WorkerOptions;
  });
}

/** The names in the export clause that esbuild writes at the end of a main module. */
function exportsOf(main: string): string[] {
  const clause = [...main.matchAll(/\bexport\s*\{([^}]*)\}/g)].at(-1)?.[1] ?? "";
  return clause.split(",").flatMap((each) => /(\w+)\s*$/.exec(each)?.[1] ?? []);
}

function frontModule(names: readonly string[], distances: Distances, isFar: boolean): string {
  return [
    `import * as worker from "./worker.js";`,
    `import { placeWorker } from "./distant-stores.js";`,
    `const placed = placeWorker(worker, ${JSON.stringify(distances)}, ${isFar});`,
    ...names.map((name) =>
      name === "default" ? `export default placed.default;` : `export const ${name} = placed.${name};`,
    ),
  ].join("\n");
}
