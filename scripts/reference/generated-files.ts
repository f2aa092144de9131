import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compactWorker, repositoryRoot, workers } from "../../packages/edge-op/src/workers.ts";
import { commonPasswordsFile } from "./common-passwords.ts";
import { frameworksFile } from "./frameworks.ts";
import { logEventsPage } from "./log-events-page.ts";
import { refusalReasonsPage } from "./refusal-reasons-page.ts";
import { settingsPage } from "./settings-page.ts";
import { simulationsPage } from "./simulations-page.ts";
import { specificationsPage } from "./specifications-page.ts";
import { wranglerFile } from "./wrangler-files.ts";

/** **The files that are generated from the sources**, by path: pages of `docs/reference/`, wrangler files, and the data that Workers contain. */
const generatedFiles: ReadonlyMap<string, () => string> = new Map([
  ["docs/reference/log-events.md", logEventsPage],
  ["docs/reference/refusal-reasons.md", refusalReasonsPage],
  ["docs/reference/settings.md", settingsPage],
  ["test/simulation/README.md", simulationsPage],
  ["docs/reference/specifications.md", specificationsPage],
  ["packages/op-console/data/frameworks.json", frameworksFile],
  ["packages/shared/data/common-passwords.json", commonPasswordsFile],
  ...[...workers, compactWorker].map(({ name, config }) => [config, () => wranglerFile(name)] as const),
]);

export function writeGeneratedFiles(): void {
  for (const [path, make] of generatedFiles) writeFileSync(join(repositoryRoot, path), make());
}

export function staleFiles(): string[] {
  const differs = ([path, make]: readonly [string, () => string]): boolean =>
    readFileSync(join(repositoryRoot, path), "utf8") !== make();
  return [...generatedFiles].filter(differs).map(([path]) => path);
}
