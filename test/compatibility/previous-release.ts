import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { BuiltWorker } from "../../packages/local-provider/src/describe-workers.ts";

/**
 * **The Workers of the previous release, as they were built**: kept by scripts/keep-release.ts in `previous-release/`, so that the tests need
 * no history of the repository. Each has the bindings that it had.
 */
export interface KeptRelease {
  readonly commit: string;
  readonly committedAt: string;
  /** The name of the newest one in `migrations/`. */
  readonly lastMigration: string;
  /** The options of each Worker, by Worker name. */
  readonly workers: Readonly<Record<string, BuiltWorker["options"]>>;
}

const directory = join(import.meta.dirname, "previous-release");

export const previousRelease = JSON.parse(readFileSync(join(directory, "release.json"), "utf8")) as KeptRelease;

export const endpointWorkers = ["op-token", "op-management", "op-userinfo", "op-auth"] as const;

function builtWorker(name: string): BuiltWorker {
  const options = previousRelease.workers[name];
  if (options === undefined) throw new Error(`the previous release has no Worker ${name}`);
  return { options, contents: brotliDecompressSync(readFileSync(join(directory, `${name}.js.br`))).toString() };
}

/** `op-token#2` is the previous release's op-token in a second isolate. */
export function previousWorkers(isolates: readonly string[]): Record<string, BuiltWorker> {
  return Object.fromEntries(isolates.map((isolate) => [isolate, builtWorker(isolate.split("#")[0]!)]));
}
