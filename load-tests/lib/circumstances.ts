import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cpus, type as systemName, totalmem } from "node:os";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import { findRuntime } from "./process-time.ts";
import type { Deployment } from "./start-provider.ts";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly k6: string;
  /** The generator ran on the machine of the provider, so figures are comparable only within one run. */
  readonly sharedWithProvider: boolean;
}

/** **The circumstances of a run**: the machine, the commit, and the provider's shard map. Without k6, the provider is on this machine. */
export function describeMachine(k6 = "", origin = "http://localhost"): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: systemName(),
    node: process.version,
    k6,
    sharedWithProvider: isLocal(origin),
  };
}

function isLocal(origin: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(new URL(origin).hostname);
}

/** The workerd process of the provider that `npm start` runs on this machine, found by its pid file. */
export function findProviderProcess(pidFile: string, origin: string): number | undefined {
  if (!isLocal(origin) || !existsSync(pidFile)) return undefined;
  return findRuntime(Number(readFileSync(pidFile, "utf8")));
}

/** The abbreviated commit, with a plus if files differ from it. */
export function describeCommit(): string {
  const git = (...args: string[]) =>
    spawnSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).stdout?.trim() ?? "";
  const commit = git("rev-parse", "--short", "HEAD");
  if (commit === "") return "unknown";
  return git("status", "--porcelain", "--untracked-files=no") === "" ? commit : `${commit}+`;
}

interface Generation {
  readonly store: string;
  readonly generation: number;
  readonly regions: Readonly<Record<string, { readonly shards: number }>>;
  readonly minted_until?: number;
}

/** The newest generation of each store: `revocation g1 wnam:8, refresh g1 wnam:16, …`. */
export async function describeShards({ origin, admin }: Deployment): Promise<string> {
  const { generations } = (await new AdminApi(origin, admin).require("GET", "/shards/generations")) as {
    generations: Generation[];
  };
  return generations
    .filter(({ minted_until }) => minted_until === undefined)
    .map(({ store, generation, regions }) => {
      const shards = Object.entries(regions).map(([region, { shards: number }]) => `${region}:${number}`);
      return `${store} g${generation} ${shards.join("+")}`;
    })
    .join(", ");
}
