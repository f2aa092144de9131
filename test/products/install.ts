import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";

/** Packages of a registry, with their versions. */
export interface Packages {
  readonly npm?: readonly string[];
  /** These npm packages are dependencies of this repository, so that `npm test` needs no registry. */
  readonly isHere?: true;
  readonly pip?: readonly string[];
  /** Named here only: Maven installs what the product's `pom.xml` names. */
  readonly maven?: readonly string[];
  /** Go modules that `main.go` of the page imports. */
  readonly go?: readonly string[];
  /** Debian packages, which are unpacked into `root`. */
  readonly deb?: readonly string[];
}

/** Installs packages, unless the folder has them since an earlier run. */
export async function install(folder: string, packages: Packages): Promise<void> {
  const [marker, wanted] = [join(folder, "installed.json"), JSON.stringify(packages)];
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { npm, isHere, pip, go, deb } = packages;
  const run = (command: string, words: readonly string[]) =>
    promisify(execFile)(command, words, { cwd: folder, maxBuffer: 100_000_000 });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  if (isHere === true) symlinkSync(join(repositoryRoot, "node_modules"), join(folder, "node_modules"));
  else if (npm !== undefined) await run("npm", ["install", "--no-audit", "--no-fund", "--save-exact", ...npm]);
  if (pip !== undefined) {
    await run("python3", ["-m", "venv", ".venv"]);
    await run(".venv/bin/pip", ["install", "--quiet", "--disable-pip-version-check", ...pip]);
  }
  if (go !== undefined) {
    await run("go", ["mod", "init", "app"]);
    await run("go", ["get", ...go]);
  }
  if (deb !== undefined) {
    await run("apt-get", ["download", "-q", ...deb]);
    await run("sh", ["-c", "for file in *.deb; do dpkg -x $file root; done"]);
  }
  writeFileSync(marker, wanted);
}
