import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin } from "esbuild";
import { mainModule } from "../../packages/edge-op/src/builds.ts";
import { bundleModules } from "../../packages/edge-op/src/bundle-worker.ts";
import type { WorkerFiles } from "../../packages/edge-op/src/workers.ts";

/** The members of a wrangler configuration that upload the modules as they are, with the source maps beside them. */
export const uploadsModules = {
  no_bundle: true,
  rules: [{ type: "ESModule", globs: ["**/*.js"] }],
  upload_source_maps: true,
};

export interface WrittenWorker {
  /** The path of the main module. */
  readonly main: string;
  /** Bytes of all modules, each compressed with gzip. */
  readonly compressedBytes: number;
}

/** **Writes the modules of a Worker, and their source maps, into a folder** that contains nothing else. */
export async function writeWorker(
  { entry }: WorkerFiles,
  folder: string,
  plugins: Plugin[] = [],
): Promise<WrittenWorker> {
  const files = await bundleModules(entry, { sourcemap: "linked", plugins });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { path, contents } of files) writeFileSync(join(folder, path), contents);
  const modules = files.filter(({ path }) => path.endsWith(".js"));
  const compressedBytes = modules.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0);
  return { main: join(folder, mainModule), compressedBytes };
}
