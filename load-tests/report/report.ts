/**
 * **`node load-tests/report/report.ts <results…> [--out dir] [--title text]`**: `report.md` and `report.html` of every run below the given
 * directories. Raw figures stay in each run's `run.json` and `summary.json`.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { renderReport } from "./render.ts";
import type { RunRecord } from "./run-record.ts";

function findRuns(path: string): string[] {
  if (path.endsWith(".json")) return [path];
  if (existsSync(join(path, "run.json"))) return [join(path, "run.json")];
  const below = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return below.flatMap((entry) => findRuns(join(path, entry.name)));
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { out: { type: "string" }, title: { type: "string", default: "Load test report" } },
});
const paths = positionals.flatMap(findRuns);
if (paths.length === 0) {
  console.error(
    "No run.json found. Usage: node load-tests/report/report.ts <results directory…> [--out dir] [--title text]",
  );
  process.exit(2);
}
const report = renderReport(
  values.title,
  paths.map((path) => JSON.parse(readFileSync(path, "utf8")) as RunRecord),
);
const out = values.out ?? positionals[0]!;
mkdirSync(out, { recursive: true });
writeFileSync(join(out, "report.md"), report.markdown);
writeFileSync(join(out, "report.html"), report.html);
console.log(`${paths.length} runs → ${join(out, "report.md")}, ${join(out, "report.html")}`);
