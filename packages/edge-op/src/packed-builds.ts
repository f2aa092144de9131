import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Builds, type BuiltWorker, type Migration, readModules } from "./builds.ts";
import type { DatabaseName } from "./store-worker.ts";

/** **The Workers that the published package contains**: a folder of modules each, written when it was packed. */
export interface PackedWorkers {
  readonly workers: Readonly<Record<string, BuiltWorker["options"]>>;
  readonly migrations: Readonly<Record<DatabaseName, readonly Migration[]>>;
}

export const instancesName = "instances";

/** `folder` contains what {@link PackedWorkers} describes, and the folder of each Worker. */
export function packedBuilds(folder: string): Builds {
  const { workers, migrations } = JSON.parse(readFileSync(join(folder, "workers.json"), "utf8")) as PackedWorkers;
  const read = (name: string): Promise<BuiltWorker> => {
    const options = workers[name];
    if (options === undefined) throw new Error(`the package has no Worker ${name}`);
    return Promise.resolve({ modules: readModules(join(folder, name)), options });
  };
  return {
    worker: ({ name }) => read(name),
    instances: () => read(instancesName),
    application: ({ entry }) => Promise.reject(new Error(`the package has no application ${entry}`)),
    distantStores: () => Promise.reject(new Error("the package has no distances")),
    migrations: (database) => Promise.resolve(migrations[database]),
  };
}
