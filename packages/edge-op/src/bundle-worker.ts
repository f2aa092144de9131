import { type BuildOptions, build } from "esbuild";
import { workerBundle } from "./worker-bundle.ts";
import { repositoryRoot } from "./workers.ts";

/** **Bundles a Worker of this repository**, with wrangler's own esbuild and options, in a tenth of a second instead of one. */
export async function bundleWorker(entry: string, options: BuildOptions = {}): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    absWorkingDir: repositoryRoot,
    ...workerBundle,
    logLevel: "warning",
    ...options,
    write: false,
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return output.text;
}
