import { type BindingName, type SeparateWorker, workers } from "@edge-op/workers/workers";
import type { V4WorkerOptions } from "miniflare";
import type { ApplicationFiles, Builds } from "./builds.ts";
import { stateScript } from "./workers.ts";

/** **A Worker with hooks of the operator** beside the provider. Without `config` it has no bindings but `vars`. */
export interface LocalHooks extends ApplicationFiles {
  readonly vars?: Readonly<Record<string, string>>;
}

const hooksName = "operator-hooks";

const binding = "HOOKS" satisfies BindingName;

function bindsHooks(name: string): boolean {
  const [worker] = name.split("#");
  if (worker === stateScript) return true;
  const row = workers[worker as SeparateWorker] as (typeof workers)[SeparateWorker] | undefined;
  return row?.binds.some((each) => each === binding) === true;
}

/** The Workers of a provider, bound to that of the operator, as `npm run deploy` binds them. */
export async function withHooks(
  builds: Builds,
  provider: readonly V4WorkerOptions[],
  { vars, ...files }: LocalHooks,
): Promise<V4WorkerOptions[]> {
  const { contents, options } = await builds.application(files);
  const bound = provider.map(
    (worker): V4WorkerOptions =>
      bindsHooks(worker.name!)
        ? { ...worker, serviceBindings: { ...worker.serviceBindings, [binding]: hooksName } }
        : worker,
  );
  const modules = [{ type: "ESModule" as const, path: "index.js", contents }];
  return [...bound, { ...options, name: hooksName, modules, bindings: { ...options.bindings, ...vars } }];
}
