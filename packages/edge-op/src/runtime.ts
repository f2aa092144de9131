import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import module, { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * **The runtime of Workers (Miniflare and workerd, 190 MB)**, which only a provider on this machine needs. The package does not depend on it, so that
 * operators do not install it: it is that of the project, or one that `edge-op dev` installs once for this user. Only the version of this release is
 * used.
 */
const name = "miniflare";

export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
}

/** `root`: the folder of this package. In the workspace, the runtime is a dependency. */
function versionFor(root: string): string {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly runtime?: Readonly<Record<string, string>>;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return (manifest.runtime ?? manifest.dependencies)[name]!;
}

function ownFolder(version: string): string {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const base = XDG_CACHE_HOME || (process.platform === "win32" && LOCALAPPDATA) || join(homedir(), ".cache");
  return join(base, "edge-op", `runtime-${version}`);
}

/** The module of the runtime below a folder, or beside it. */
function findIn(folder: string, version: string): string | undefined {
  const require = createRequire(join(folder, "package.json"));
  try {
    const { version: found } = require(`${name}/package.json`) as { readonly version: string };
    return found === version ? require.resolve(name) : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

let used: string | undefined;

/** The module that this process uses. */
export function runtimeModule(): string {
  return used ?? createRequire(import.meta.url).resolve(name);
}

/** Makes the runtime importable, if there is one, and returns whether there is. Before the first import of it. */
export function useRuntime(root: string): boolean {
  const version = versionFor(root);
  used = findIn(root, version);
  if (used !== undefined) return true;
  used = findIn(ownFolder(version), version);
  if (used === undefined) return false;
  const url = pathToFileURL(used).href;
  if (module.registerHooks === undefined)
    throw new RuntimeError(`Node 22.15 or newer is needed; this is ${process.version}.`);
  module.registerHooks({
    resolve: (specifier, context, next) =>
      specifier === name ? { url, format: "commonjs", shortCircuit: true } : next(specifier, context),
  });
  return true;
}

/** As {@link useRuntime}; installs the runtime if there is none. */
export async function prepareRuntime(root: string, note: (text: string) => void): Promise<void> {
  if (Number(process.versions.node.split(".")[0]) < 22)
    throw new RuntimeError(`A provider on this machine needs Node 22 or newer; this is ${process.version}.`);
  if (useRuntime(root)) return;
  const version = versionFor(root);
  const folder = ownFolder(version);
  note(`Installing the runtime of Workers (${name} ${version}, about 190 MB) once, into ${folder} …`);
  await install(version, folder);
  if (!useRuntime(root)) throw new RuntimeError(`${folder} has no ${name} ${version}. Remove it, and try again.`);
}

/** What a project can do, which a test does not do by itself: it would wait for a minute. */
export function adviceToInstall(root: string): string {
  return `A provider on this machine needs the runtime of Workers: npm install --save-dev ${name}@${versionFor(root)}`;
}

/** Installs beside the folder, so that it is complete or absent; of two processes at once, the first one's stays. */
async function install(version: string, folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const partial = mkdtempSync(`${folder}.`);
  try {
    writeFileSync(join(partial, "package.json"), JSON.stringify({ private: true }));
    const words = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", ".", `${name}@${version}`];
    const code = await new Promise<number | null>((resolve, reject) => {
      const npm = spawn("npm", words, {
        cwd: partial,
        stdio: ["ignore", "ignore", "inherit"],
        shell: process.platform === "win32",
      });
      npm.on("error", reject);
      npm.on("close", resolve);
    });
    if (code !== 0) throw new Error(`npm ended with ${code}`);
    renameSync(partial, folder);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    if (findIn(folder, version) !== undefined) return;
    const { message } = error as Error;
    throw new RuntimeError(
      `The runtime could not be installed: ${message}. Repeat it, or install it in your project: npm install --save-dev ${name}@${version}`,
    );
  }
}
