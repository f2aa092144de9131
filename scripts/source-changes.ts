import { watch } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";

/** An editor writes a file in several steps, and a branch switch changes many files. */
const settledMs = 100;

const isSource = (file: string | null): boolean =>
  file !== null && /\.(ts|tsx|toml|jsonc?|sql|css)$/.test(file) && !/node_modules|[\\/]test[\\/]/.test(file);

/** **Calls `react` after sources of the Workers, migrations or files beside the operator's `hooks` have changed**, one call at a time. */
export function onSourceChange(hooks: string | undefined, react: () => Promise<void>): void {
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
      if (isSource(file)) changed();
    });
  }
  // An editor may replace the file, which a watch of the file alone would lose.
  if (hooks !== undefined) watch(dirname(resolve(hooks)), (_event, file) => isSource(file) && changed());
}
