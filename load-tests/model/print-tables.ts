/**
 * **`node load-tests/model/print-tables.ts`**: prints the model's tables; with `--write`, writes them into the pages of the repository that show
 * them. `--calculated` omits the simulated ones, which take a minute or two.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Tables, writeTables } from "./pages.ts";
import { reads, refreshes, reproduction, saturation } from "./simulated-tables.ts";
import { calculatedTables } from "./tables.ts";

const { values } = parseArgs({
  options: { write: { type: "boolean", default: false }, calculated: { type: "boolean", default: false } },
});

const simulated: Readonly<Record<string, Tables>> = values.calculated
  ? {}
  : { "load-tests/reports/model/model.md": { saturation, reproduction, reads, refreshes } };

for (const tables of [calculatedTables, simulated]) {
  for (const [page, ofPage] of Object.entries(tables)) {
    const path = fileURLToPath(new URL(`../../${page}`, import.meta.url));
    for (const [name, make] of Object.entries(ofPage)) {
      const made = make();
      console.log(`\n## ${name}\n\n${made}`);
      if (values.write) writeFileSync(path, writeTables(readFileSync(path, "utf8"), { [name]: () => made }));
    }
  }
}
