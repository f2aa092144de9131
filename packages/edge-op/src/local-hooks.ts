import { dirname, resolve } from "node:path";
import type { Plugin } from "esbuild";
import { unstable_readConfig as readConfig } from "wrangler";
import { bundleWorker } from "./bundle-worker.ts";
import { settingsFor } from "./testing/serve-hooks.ts";
import type { LocalHooks } from "./with-hooks.ts";

/** The classes that a module of Workers extends; nothing of them is called. */
const standIn: Plugin = {
  name: "stand-in for cloudflare:workers",
  setup: (build) => {
    build.onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({ path, namespace: "stand-in" }));
    build.onLoad({ filter: /.*/, namespace: "stand-in" }, () => ({
      contents: "export class WorkerEntrypoint {}; export class DurableObject {}; export const env = {};",
    }));
  },
};

/** **The hooks that a path names**: a file of TypeScript, or a wrangler file, whose bindings they then have. */
export function localHooks(path: string): LocalHooks {
  const absolute = resolve(path);
  if (!/\.(?:toml|jsonc?)$/.test(path)) return { entry: absolute };
  const { main } = readConfig({ config: absolute });
  if (main === undefined) throw new Error(`${path} has no main`);
  return { config: absolute, entry: resolve(dirname(absolute), main) };
}

/** **The settings that enable the hooks of a file**, for local runs: its default export is loaded, but not called. */
export async function settingsOfHooks(entry: string): Promise<Readonly<Record<string, string>>> {
  const text = await bundleWorker(entry, { plugins: [standIn], external: ["node:*"], sourcemap: false });
  const url = `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
  const { default: hooks } = (await import(url)) as { readonly default?: { readonly prototype?: object } };
  if (hooks?.prototype === undefined) throw new Error(`${entry} has no class as its default export`);
  return settingsFor(hooks.prototype);
}
