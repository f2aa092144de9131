import type { V4WorkerOptions } from "miniflare";
import type { Builds, esModules } from "./builds.ts";
import type { Distances } from "./distant-stores.ts";

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
