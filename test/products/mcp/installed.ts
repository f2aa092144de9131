import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** **Packages of a registry, at pinned versions, in a temporary folder**, which later runs with the same versions use again. */
const execute = promisify(execFile);

async function folderWith(packages: readonly string[], install: (folder: string) => Promise<unknown>): Promise<string> {
  const name = createHash("sha256").update(packages.join("\n")).digest("hex").slice(0, 12);
  const folder = join(tmpdir(), `edge-op-products-${name}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    await install(unfinished);
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}

/** `package@version`, or the path of a tarball. Returns a folder with `node_modules`. */
export function npmPackages(...packages: readonly string[]): Promise<string> {
  return folderWith(packages, (folder) => installPackages(folder, ...packages));
}

export async function installPackages(folder: string, ...packages: readonly string[]): Promise<void> {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "product", private: true, type: "module" }));
  await execute("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...packages], { cwd: folder });
}

/** `package==version`. Returns the Python to run; modules are found by `PYTHONPATH`, because a virtual environment cannot be moved. */
export async function pythonPackages(...packages: readonly string[]): Promise<{ readonly PYTHONPATH: string }> {
  const folder = await folderWith(["python", ...packages], (into) =>
    execute("python3", ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", into, ...packages]),
  );
  return { PYTHONPATH: folder };
}
