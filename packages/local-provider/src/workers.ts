import { join } from "node:path";

/** **The Workers of a deployment**, in the order in which they are deployed: each binds only those before it. */
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
  { name: "op", config: "wrangler.toml", entry: "packages/op/src/index.ts" },
] as const;

export type WorkerName = (typeof workers)[number]["name"];

/** Root of the repository. */
export const repositoryRoot = join(import.meta.dirname, "../../..");
