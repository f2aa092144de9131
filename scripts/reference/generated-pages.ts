import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../packages/local-provider/src/workers.ts";
import { commonPasswordsModule } from "./common-passwords.ts";
import { logEventsPage } from "./log-events-page.ts";
import { refusalReasonsPage } from "./refusal-reasons-page.ts";
import { settingsPage } from "./settings-page.ts";
import { simulationsPage } from "./simulations-page.ts";
import { specificationsPage } from "./specifications-page.ts";

/** **The pages of `docs/reference/` that are made from the sources**, and the module that is made from a package, by their paths. */
export const generatedPages: Readonly<Record<string, () => string>> = {
  "docs/reference/log-events.md": logEventsPage,
  "docs/reference/refusal-reasons.md": refusalReasonsPage,
  "docs/reference/settings.md": settingsPage,
  "docs/reference/simulations.md": simulationsPage,
  "docs/reference/specifications.md": specificationsPage,
  "packages/shared/src/secrets/common-passwords.ts": commonPasswordsModule,
};

export function writeGeneratedPages(): void {
  for (const [path, make] of Object.entries(generatedPages)) writeFileSync(join(repositoryRoot, path), make());
}
