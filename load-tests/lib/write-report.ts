import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadTestsRoot } from "./find-k6.ts";

/** The directory in which a measurement stores its report, ignored by git: one per kind, or one per run. */
export function reportDirectory(kind: string, startedAt?: Date): string {
  const run = startedAt === undefined ? [] : [startedAt.toISOString().replaceAll(/[:.]/g, "-")];
  return join(loadTestsRoot, "..", ".op", kind, ...run);
}

/** **Writes `<name>.json` and `<name>.md`** to a directory; returns the path of the latter. */
export function writeReport(directory: string, name: string, figures: unknown, text: string): string {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.json`), `${JSON.stringify(figures, null, 2)}\n`);
  writeFileSync(join(directory, `${name}.md`), text);
  return join(directory, `${name}.md`);
}
