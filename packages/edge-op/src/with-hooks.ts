import { type BindingName, type SeparateWorker, workers } from "@edge-op/workers/workers";
import type { V4WorkerOptions } from "miniflare";
import { esModules } from "./builds.ts";
import { buildHooks, type LocalHooks } from "./local-hooks.ts";
import { stateScript } from "./workers.ts";

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
