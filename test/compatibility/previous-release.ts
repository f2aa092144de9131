/**
 * **The built Workers of the previous release**, stored by scripts/keep-release.ts in `previous-release/`, so that the tests need no history of the
 * repository. Each has its original bindings. Until a release is stored, the current sources are used instead.
 */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { type BuiltWorker, mainModule } from "../../packages/edge-op/src/builds.ts";
import { bundleWorker } from "../../packages/edge-op/src/bundle-worker.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { ownMigrations } from "../../scripts/deploy/migrations.ts";

interface KeptRelease {
  /** The name of the newest migration in `migrations/`. */
  readonly lastMigration: string;
  /** The hash of each migration of both databases: they never change again. */
  readonly migrations: Readonly<Record<string, string>>;
  /** The options of each Worker, by Worker name. */
  readonly workers: Readonly<Record<string, BuiltWorker["options"]>>;
}

interface WorkersModule {
  readonly workers: readonly { readonly name: string; readonly config: string; readonly entry: string }[];
}

export const keptDirectory = join(import.meta.dirname, "previous-release");
/** Whether a release was stored; otherwise both sides of the tests run the same code. */
export const isKept = existsSync(keptDirectory);

export const endpointWorkers = ["op-token", "op-management", "op-userinfo", "op-auth"] as const;

/** Writes the bundles of a checkout, not minified by name, and the bindings of its Workers to `directory`. */
export async function keepRelease(checkout: string, directory: string): Promise<void> {
  const { workers } = (await import(join(checkout, "packages/edge-op/src/workers.ts"))) as WorkersModule;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const release: KeptRelease = {
    lastMigration: readdirSync(join(checkout, "migrations")).sort().at(-1)!,
    migrations: Object.fromEntries(ownMigrations(checkout).map(({ path, hash }) => [path, hash])),
    workers: Object.fromEntries(
      workers.map(({ name, config }) => {
        const { rootPath: _, modulesRules: __, ...options } = readWorkerOptions(join(checkout, config)).workerOptions;
        return [name, Object.fromEntries(Object.entries(options).filter(([, value]) => !isEmpty(value)))];
      }),
    ),
  };
  writeFileSync(join(directory, "release.json"), `${JSON.stringify(release, null, 2)}\n`);
  for (const { name, entry } of workers) {
    const contents = await bundleWorker(join(checkout, entry), { minifyWhitespace: true, sourcemap: false });
    writeFileSync(join(directory, `${name}.js.br`), brotliCompressSync(contents));
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

/** **Reads the stored release.** */
export class PreviousRelease {
  readonly #directory: string;
  readonly #release: KeptRelease;

  private constructor(directory: string) {
    this.#directory = directory;
    this.#release = JSON.parse(readFileSync(join(directory, "release.json"), "utf8")) as KeptRelease;
  }

  static async find(): Promise<PreviousRelease> {
    if (isKept) return new PreviousRelease(keptDirectory);
    const directory = mkdtempSync(join(tmpdir(), "edge-op-kept-"));
    await keepRelease(repositoryRoot, directory);
    return new PreviousRelease(directory);
  }

  get lastMigration(): string {
    return this.#release.lastMigration;
  }

  /** `op-token#2` is its op-token in a second isolate. */
  workers(isolates: readonly string[]): Record<string, BuiltWorker> {
    return Object.fromEntries(isolates.map((isolate) => [isolate, this.#worker(isolate.split("#")[0]!)]));
  }

  #worker(name: string): BuiltWorker {
    const options = this.#release.workers[name];
    if (options === undefined) throw new Error(`the previous release has no Worker ${name}`);
    const contents = brotliDecompressSync(readFileSync(join(this.#directory, `${name}.js.br`))).toString();
    return { options, modules: [{ path: mainModule, contents }] };
  }
}
