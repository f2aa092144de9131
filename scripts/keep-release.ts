import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { bundleWorker } from "../packages/local-provider/src/bundle-worker.ts";
import { repositoryRoot } from "../packages/local-provider/src/workers.ts";
import type { KeptRelease } from "../test/compatibility/previous-release.ts";

/**
 * **`node scripts/with-toolchain.mjs scripts/keep-release.ts [checkout]`**: keeps the Workers of a release, of this checkout by default, as
 * the previous release that test/compatibility runs: its bundles, not minified by name, and the bindings that it had. Run at every release.
 */
const checkout = resolve(process.argv[2] ?? repositoryRoot);
const directory = join(repositoryRoot, "test/compatibility/previous-release");

interface WorkersModule {
  readonly workers: readonly { readonly name: string; readonly config: string; readonly entry: string }[];
}

function git(...command: readonly string[]): string {
  return execFileSync("git", ["-C", checkout, ...command], { encoding: "utf8" }).trim();
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

const changed = git("status", "--porcelain", "--", "packages", "wrangler.toml");
if (changed !== "") throw new Error(`${checkout} has changes that no commit contains:\n${changed}`);
const { workers } = (await import(join(checkout, "packages/local-provider/src/workers.ts"))) as WorkersModule;
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const release: KeptRelease = {
  commit: git("rev-parse", "HEAD"),
  committedAt: git("log", "-1", "--format=%cI"),
  lastMigration: readdirSync(join(checkout, "migrations")).sort().at(-1)!,
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
  const compressed = brotliCompressSync(contents);
  writeFileSync(join(directory, `${name}.js.br`), compressed);
  console.log(
    `${name.padEnd(14)} ${Math.round(contents.length / 1024)} KiB, ${Math.round(compressed.length / 1024)} KiB`,
  );
}
