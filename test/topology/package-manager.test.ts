import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";

/** The package manager is fetched by its hash, on every path that fetches it. */
interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(repositoryRoot, path), "utf8")) as T;
}

test("packageManager has a hash, and npm installs the same pnpm by the same hash", () => {
  const { packageManager } = readJson<{ packageManager: string }>("package.json");
  const [, version, hash] = /^pnpm@([\d.]+)\+sha512\.([0-9a-f]{128})$/.exec(packageManager) ?? [];
  const { dependencies } = readJson<{ dependencies: Record<string, string> }>("scripts/pnpm/package.json");
  expect(dependencies).toEqual({ pnpm: version });
  const { packages } = readJson<Lockfile>("scripts/pnpm/package-lock.json");
  const integrity = `sha512-${Buffer.from(hash!, "hex").toString("base64")}`;
  expect(packages["node_modules/pnpm"]).toMatchObject({ version, integrity });
  const unhashed = Object.entries(packages).filter(([path, entry]) => path !== "" && entry.integrity === undefined);
  expect(unhashed).toEqual([]);
});

test("nothing is fetched only by name", () => {
  const script = readFileSync(join(repositoryRoot, "scripts/with-toolchain.mjs"), "utf8");
  expect(script).not.toMatch(/npx/);
});
