import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { type BindingName, type SeparateWorker, workers } from "@edge-op/workers/workers";
import type * as Esbuild from "esbuild";
import type { V4WorkerOptions } from "miniflare";
import type * as Wrangler from "wrangler";
import { type BuiltWorker, esModules, mainModule } from "./builds.ts";
import { workerBundle } from "./bundle-worker.ts";
import { settingsFor } from "./serve-hooks.ts";
import { stateScript } from "./workers.ts";

/** **The hooks of an operator in a local run**: a file of TypeScript, or a wrangler file, whose bindings and variables they then have. */
export interface LocalHooks {
  readonly path: string;
  readonly vars?: Readonly<Record<string, string>>;
}

/** An error that the operator can correct. */
export class HooksError extends Error {
  override readonly name = "HooksError";
}

/** The classes that a module of Workers extends; nothing of them is called. */
const standIn: Esbuild.Plugin = {
  name: "stand-in for cloudflare:workers",
  setup: (build) => {
    build.onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({ path, namespace: "stand-in" }));
    build.onLoad({ filter: /.*/, namespace: "stand-in" }, () => ({
      contents: "export class WorkerEntrypoint {}; export class DurableObject {}; export const env = {};",
    }));
  },
};

/** Bundles the hooks as they are now. Without a wrangler file they have no bindings. */
export async function buildHooks(path: string): Promise<BuiltWorker> {
  const { entry, options = {} } = readHooks(path);
  return { modules: [{ path: mainModule, contents: await bundle(entry) }], options };
}

/** The settings that enable the hooks of a file: its default export is loaded, but not called. */
export async function settingsOfHooks(path: string): Promise<Readonly<Record<string, string>>> {
  const text = await bundle(readHooks(path).entry, { plugins: [standIn], external: ["node:*"], sourcemap: false });
  const url = `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
  const { default: hooks } = (await import(url)) as { readonly default?: { readonly prototype?: object } };
  if (hooks?.prototype === undefined) throw new HooksError(`${path} has no class as its default export.`);
  const settings = settingsFor(hooks.prototype);
  if (Object.values(settings).join("") === "") throw new HooksError(`The class of ${path} has no method of a hook.`);
  return settings;
}

/** Which hooks settings enable, for a person. */
export function describeHooks({ ENABLED_HOOKS = "", MAIL_PROVIDER }: Readonly<Record<string, string>>): string {
  return [ENABLED_HOOKS, ...(MAIL_PROVIDER === "hook" ? ["mail"] : [])].join(" ").trim();
}

function readHooks(path: string): { readonly entry: string; readonly options?: BuiltWorker["options"] } {
  const absolute = resolve(path);
  if (!existsSync(absolute)) throw new HooksError(`There is no file ${absolute}.`);
  if (!/\.(?:toml|jsonc?)$/.test(path)) return { entry: absolute };
  const wrangler = requireTool(dirname(absolute), ["wrangler"]) as typeof Wrangler;
  const { main } = wrangler.unstable_readConfig({ config: absolute });
  if (main === undefined) throw new HooksError(`${path} has no main.`);
  const { workerOptions } = wrangler.unstable_getMiniflareWorkerOptions(absolute);
  return { entry: resolve(dirname(absolute), main), options: workerOptions };
}

async function bundle(entry: string, options: Esbuild.BuildOptions = {}): Promise<string> {
  const esbuild = requireTool(dirname(entry), ["wrangler", "esbuild"]) as typeof Esbuild;
  const built = esbuild.build({ entryPoints: [entry], ...workerBundle, ...options, logLevel: "silent", write: false });
  const { outputFiles } = await built.catch((error: unknown) => {
    throw new HooksError(error instanceof Error ? error.message : String(error));
  });
  return outputFiles[0]!.text;
}

/** Wrangler of the operator's project, with which they deploy their Worker, or its own esbuild: the package `edge-op` has neither. */
function requireTool(folder: string, path: readonly string[]): unknown {
  const starts = [join(folder, "from.js"), import.meta.url];
  for (const start of starts) {
    try {
      const file = path.reduce((from, name) => createRequire(from).resolve(name), start);
      return createRequire(import.meta.url)(file);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  throw new HooksError(`Hooks are bundled by wrangler, which ${folder} does not have: npm install --save-dev wrangler`);
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND";
}

const hooksName = "operator-hooks";

const binding = "HOOKS" satisfies BindingName;

function bindsHooks(name: string): boolean {
  const [worker] = name.split("#");
  if (worker === stateScript) return true;
  const row = workers[worker as SeparateWorker] as (typeof workers)[SeparateWorker] | undefined;
  return row?.binds.some((each) => each === binding) === true;
}

/**
 * **The Workers of a provider, bound to that of the operator**, as `npm run deploy` binds them. Hooks without a wrangler file have the compatibility
 * date of the provider.
 */
export async function withHooks(
  provider: readonly V4WorkerOptions[],
  { path, vars }: LocalHooks,
): Promise<V4WorkerOptions[]> {
  const { modules, options } = await buildHooks(path);
  const [{ compatibilityDate } = {}] = provider;
  const dated = compatibilityDate === undefined ? {} : { compatibilityDate };
  const bound = provider.map(
    (worker): V4WorkerOptions =>
      bindsHooks(worker.name!)
        ? { ...worker, serviceBindings: { ...worker.serviceBindings, [binding]: hooksName } }
        : worker,
  );
  const hooks = { name: hooksName, modules: esModules(modules), bindings: { ...options.bindings, ...vars } };
  return [...bound, { ...dated, ...options, ...hooks }];
}
