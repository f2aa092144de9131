import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadTestsRoot } from "./find-k6.ts";

/** **The stored reports** (`reports/<date>-<kind>/`) that have this file, oldest first. */
export function storedReports<T>(file: string): readonly T[] {
  const directory = join(loadTestsRoot, "reports");
  const found = readdirSync(directory).filter((name) => existsSync(join(directory, name, file)));
  return found.toSorted().map((name) => JSON.parse(readFileSync(join(directory, name, file), "utf8")) as T);
}

/** **The newest stored report of a kind**. */
export function newestReport<T>(kind: string, file: string): T {
  const directory = join(loadTestsRoot, "reports");
  const found = readdirSync(directory).filter(
    (name) => name.endsWith(`-${kind}`) && existsSync(join(directory, name, file)),
  );
  const newest = found.toSorted().at(-1);
  if (newest === undefined) throw new Error(`no report of ${kind}`);
  return JSON.parse(readFileSync(join(directory, newest, file), "utf8")) as T;
}
