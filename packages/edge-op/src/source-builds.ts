import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Plugin } from "esbuild";
import type { V4WorkerOptionsShape } from "miniflare";
import {
  unstable_getMiniflareWorkerOptions as readWorkerOptions,
  unstable_splitSqlQuery as splitSqlQuery,
} from "wrangler";
import { type Builds, mainModule } from "./builds.ts";
import { bundleModules, bundleWorker } from "./bundle-worker.ts";
import type { DatabaseName } from "./store-worker.ts";
import { compactWorker, repositoryRoot } from "./workers.ts";

/** **Builds from the sources of this repository**, with the bindings of the wrangler files. `plugins` change every Worker of the provider. */
export function buildFromSources(plugins: readonly Plugin[] = []): Builds {
  return {
    worker: async ({ config, entry }, replacement = entry) => ({
      modules: await bundleModules(replacement, { plugins: [...plugins] }),
      options: optionsOf(config),
    }),
    instances: async () => ({
      modules: await bundleModules("packages/edge-op/testing/instances/instances-worker.ts", {
        plugins: [movableClock],
      }),
      options: optionsOf(compactWorker.config),
    }),
    application: async ({ config, entry }, source) => {
      const stdin = { contents: source ?? "", resolveDir: join(repositoryRoot, dirname(entry)), loader: "ts" } as const;
      const contents = await bundleWorker(entry, source === undefined ? {} : { entryPoints: [], stdin });
      return {
        modules: [{ path: mainModule, contents }],
        options: config === undefined ? withoutBindings() : optionsOf(config),
      };
    },
    distantStores: () => bundleWorker("packages/edge-op/src/distant-stores.ts"),
    migrations: (database) => Promise.resolve(readMigrations(database)),
  };
}

export const sourceBuilds = buildFromSources();

function optionsOf(config: string): V4WorkerOptionsShape {
  return readWorkerOptions(resolve(repositoryRoot, config)).workerOptions;
}

/** A Worker of the provider's compatibility date, which may call this machine. */
function withoutBindings(): V4WorkerOptionsShape {
  const { compatibilityDate } = optionsOf(compactWorker.config);
  return compatibilityDate === undefined ? {} : { compatibilityDate };
}

/** The one module that reads the clock, replaced by the clock of the instance. */
const movableClock = replaceModule(
  "packages/shared/src/runtime/clock.ts",
  "packages/edge-op/testing/instances/movable-clock.ts",
);

const folders = { DB: "migrations", AUDIT_DB: "audit-migrations" } as const satisfies Record<DatabaseName, string>;

function readMigrations(database: DatabaseName) {
  const directory = join(repositoryRoot, folders[database]);
  return readdirSync(directory)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => ({ name, statements: splitSqlQuery(readFileSync(join(directory, name), "utf8")) }));
}

/** Replaces one module; both paths are below the root of the repository. */
export function replaceModule(original: string, replacement: string): Plugin {
  const name = `replace ${original}`;
  return {
    name,
    setup: (build) => {
      const filter = new RegExp(`(^|/)${basename(original, ".ts")}(\\.ts)?$`);
      build.onResolve({ filter }, async ({ path, resolveDir, kind, importer, pluginData }) => {
        if (pluginData === name) return undefined;
        const found = await build.resolve(path, { resolveDir, kind, importer, pluginData: name });
        return found.path === join(repositoryRoot, original) ? { path: join(repositoryRoot, replacement) } : found;
      });
    },
  };
}
