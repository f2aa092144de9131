/**
 * **`node scripts/with-toolchain.mjs scripts/keep-release.ts [checkout]`**: stores the Workers of a release, by default of this checkout, as the
 * previous release that test/compatibility runs. Run it at every release.
 */

import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";
import { keepRelease, keptDirectory } from "../test/compatibility/previous-release.ts";

const checkout = resolve(process.argv[2] ?? repositoryRoot);
const status = ["-C", checkout, "status", "--porcelain", "--", "packages", "migrations", "wrangler.toml"];
const changed = execFileSync("git", status, { encoding: "utf8" }).trim();
if (changed !== "") throw new Error(`${checkout} has changes that no commit contains:\n${changed}`);
await keepRelease(checkout, keptDirectory);
