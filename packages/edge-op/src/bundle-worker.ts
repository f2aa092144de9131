import { basename } from "node:path";
import { type BuildOptions, type BuildResult, build } from "esbuild";
import { mainModule, type WorkerModule } from "./builds.ts";
import { repositoryRoot } from "./workers.ts";

/** **How a Worker is bundled**, for local runs and deployments alike: for the same runtime as `wrangler deploy` bundles. */
export const workerBundle = {
  bundle: true,
  format: "esm",
  target: "es2024",
  supported: { using: true },
  conditions: ["workerd", "worker", "browser"],
  platform: "browser",
  external: ["cloudflare:*", "node:*"],
  define: {
    "process.env.NODE_ENV": '"production"',
    "navigator.userAgent": '"Cloudflare-Workers"',
  },
  sourcemap: "inline",
  sourcesContent: false,
} satisfies BuildOptions;

/** **Bundles a Worker of this repository into one module**, which tests read and applications of a local run use. */
export async function bundleWorker(entry: string, options: BuildOptions = {}): Promise<string> {
  const { outputFiles } = await buildWith(entry, options);
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  return output.text;
}

/**
 * **Bundles a Worker of the provider as it is deployed**: minified, and what is loaded on first use (`on-first-use.ts`) is a module of its own, so
 * starting an isolate neither parses nor evaluates it. The main module comes first. With `sourcemap: "linked"`, the source maps are among the files.
 */
export async function bundleModules(entry: string, options: BuildOptions = {}): Promise<WorkerModule[]> {
  const { outputFiles } = await buildWith(entry, {
    minify: true,
    splitting: true,
    outdir: repositoryRoot,
    entryNames: basename(mainModule, ".js"),
    chunkNames: "[name]-[hash]",
    ...options,
  });
  const modules = outputFiles.map(({ path, text }) => ({ path: basename(path), contents: text }));
  return modules.sort((left, right) => Number(right.path === mainModule) - Number(left.path === mainModule));
}

/** **The modules that an isolate parses and evaluates at its start**: the main module and what it imports, directly or not, without `import()`. */
export function modulesAtStart(modules: readonly WorkerModule[]): WorkerModule[] {
  const importsOf = ({ contents }: WorkerModule) =>
    [...contents.matchAll(/(?:\bfrom|\bimport) ?"\.\/([^"]+)"/g)].map(([, path]) => path!);
  const reached = new Set<string>([mainModule]);
  // A set is iterated in the order of insertion, with what is added meanwhile.
  for (const path of reached) {
    const found = modules.find((each) => each.path === path);
    for (const imported of found === undefined ? [] : importsOf(found)) reached.add(imported);
  }
  return modules.filter(({ path }) => reached.has(path));
}

function buildWith(entry: string, options: BuildOptions): Promise<BuildResult<{ readonly write: false }>> {
  return build({
    entryPoints: [entry],
    absWorkingDir: repositoryRoot,
    ...workerBundle,
    logLevel: "warning",
    ...options,
    write: false,
  });
}
