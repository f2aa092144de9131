import { watch } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";

/** An editor writes a file in several steps, and a branch switch changes many files. */
const settledMs = 100;

/** **Calls `react` after sources of the Workers or migrations have changed**, one call at a time. */
export function onSourceChange(react: () => Promise<void>): void {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const changed = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      running = running.then(react);
    }, settledMs);
  };
  for (const directory of ["packages", "migrations", "audit-migrations"]) {
    watch(join(repositoryRoot, directory), { recursive: true }, (_event, file) => {
      if (file !== null && /\.(ts|tsx|toml|sql|css)$/.test(file) && !/node_modules|[\\/]test[\\/]/.test(file))
        changed();
    });
  }
}
