import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import type { BuiltWorker } from "../../packages/local-provider/src/describe-workers.ts";
import { repositoryRoot, shapes, stateScript } from "../../packages/local-provider/src/workers.ts";

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
  const contents = brotliDecompressSync(readFileSync(join(directory, `${name}.js.br`))).toString();
  return name === stateScript ? withAddedClasses({ options, contents }) : { options, contents };
}

/**
 * The classes that this release adds exist as soon as its migration is applied, while objects still run the previous release: this release's
 * endpoints are bound to them. The previous release has no code for them, so theirs are empty, and a call of one fails.
 */
function withAddedClasses({ options, contents }: BuiltWorker): BuiltWorker {
  const config = join(repositoryRoot, shapes.separate.find(({ name }) => name === stateScript)!.config);
  const current: BuiltWorker["options"] = readWorkerOptions(config).workerOptions;
  const known = options.durableObjects ?? {};
  const added = Object.entries(current.durableObjects ?? {}).filter(([binding]) => known[binding] === undefined);
  const classes = added.map(
    ([, object]) => `export class ${typeof object === "string" ? object : object.className} extends AddedObject {}`,
  );
  const empty = ['import { DurableObject as AddedObject } from "cloudflare:workers";', ...classes].join("\n");
  return {
    options: { ...options, durableObjects: { ...known, ...Object.fromEntries(added) } },
    contents: classes.length === 0 ? contents : `${contents}\n${empty}\n`,
  };
}

/** `op-token#2` is the previous release's op-token in a second isolate. */
export function previousWorkers(isolates: readonly string[]): Record<string, BuiltWorker> {
  return Object.fromEntries(isolates.map((isolate) => [isolate, builtWorker(isolate.split("#")[0]!)]));
}
