import { join } from "node:path";

/** **The Workers of a deployment of separate Workers**, in the order in which they are deployed: each binds only those before it. */
export const workers = [
  { name: "op-state", config: "packages/op-state/wrangler.toml", entry: "packages/op-state/src/index.ts" },
  { name: "op-token", config: "packages/op-token/wrangler.toml", entry: "packages/op-token/src/index.ts" },
  {
    name: "op-management",
    config: "packages/op-management/wrangler.toml",
    entry: "packages/op-management/src/index.ts",
  },
  { name: "op-userinfo", config: "packages/op-userinfo/wrangler.toml", entry: "packages/op-userinfo/src/index.ts" },
  { name: "op-auth", config: "packages/op-auth/wrangler.toml", entry: "packages/op-auth/src/index.ts" },
  { name: "op", config: "packages/op/wrangler.toml", entry: "packages/op/src/index.ts" },
] as const;

/** All of them in one, with the object classes. */
export const compactWorker = {
  name: "op-compact",
  config: "wrangler.toml",
  entry: "packages/op-compact/src/index.ts",
} as const;

/** **How a deployment is divided into Workers** (ADR 33). */
export const shapes = { separate: workers, compact: [compactWorker] } as const;

export type Shape = keyof typeof shapes;

export type WorkerName = (typeof shapes)[Shape][number]["name"];

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
