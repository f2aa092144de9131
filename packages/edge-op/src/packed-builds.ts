import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Builds, BuiltWorker, Migration } from "./builds.ts";
import type { DatabaseName } from "./store-worker.ts";

/** **The Workers that the published package contains**: one file each, written when it was packed. */
export interface PackedWorkers {
  readonly workers: Readonly<Record<string, BuiltWorker["options"]>>;
  readonly migrations: Readonly<Record<DatabaseName, readonly Migration[]>>;
}

export const instancesName = "instances";

/** `folder` contains the files that {@link PackedWorkers} describes, and the bundle of each Worker. */
export function packedBuilds(folder: string): Builds {
  const { workers, migrations } = JSON.parse(readFileSync(join(folder, "workers.json"), "utf8")) as PackedWorkers;
  const read = (name: string): Promise<BuiltWorker> => {
    const options = workers[name];
    if (options === undefined) throw new Error(`the package has no Worker ${name}`);
    return Promise.resolve({ contents: readFileSync(join(folder, `${name}.js`), "utf8"), options });
  };
  return {
    worker: ({ name }) => read(name),
    instances: () => read(instancesName),
    application: ({ entry }) => Promise.reject(new Error(`the package has no application ${entry}`)),
    distantStores: () => Promise.reject(new Error("the package has no distances")),
    migrations: (database) => Promise.resolve(migrations[database]),
  };
}
