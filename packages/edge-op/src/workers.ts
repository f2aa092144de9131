import { join } from "node:path";
import { workers as rows, type SeparateWorker } from "@edge-op/workers/workers";
import type { V4WorkerOptionsShape } from "miniflare";

type DurableObjects = NonNullable<V4WorkerOptionsShape["durableObjects"]>;

/** **Binds a Worker that defines no class** to the classes of the Worker that does. */
export function boundElsewhere(durableObjects: DurableObjects): DurableObjects {
  const bound = Object.entries(durableObjects).map(([name, binding]) => {
    const object = typeof binding === "string" ? { className: binding } : binding;
    return [name, { ...object, scriptName: object.scriptName ?? stateScript }] as const;
  });
  return Object.fromEntries(bound);
}

/** **The files of each Worker**, and how a deployment is divided into Workers (ADR 32). */
export const workers = (Object.keys(rows) as SeparateWorker[]).map((name) => ({
  name,
  config: `packages/${name}/wrangler.toml`,
  entry: `packages/${name}/src/index.ts`,
}));

/** All Workers in one, including the object classes. */
export const compactWorker = {
  name: "op-compact",
  config: "wrangler.toml",
  entry: "packages/op-compact/src/index.ts",
} as const;

export type WorkerName = SeparateWorker | typeof compactWorker.name;

export interface WorkerFiles {
  readonly name: WorkerName;
  readonly config: string;
  readonly entry: string;
}

export const shapes: { readonly separate: readonly WorkerFiles[]; readonly compact: readonly WorkerFiles[] } = {
  separate: workers,
  compact: [compactWorker],
};

export type Shape = keyof typeof shapes;

/**
 * **The script that defines the object classes, in every shape.** Durable Objects belong to the name of their script, so the compact
 * Worker is deployed under op-state's name: changing the shape then moves no state.
 */
export const stateScript = "op-state";

/** The name under which a Worker is deployed. */
export function scriptOf(name: WorkerName): string {
  return name === compactWorker.name ? stateScript : name;
}

/** Root of the repository. */
export const repositoryRoot = join(import.meta.dirname, "../../..");
