import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";
import { staleFiles } from "./reference/generated-files.ts";
import { commandStep, type Step } from "./steps.ts";

/** Directories with their own tsconfig. */
function typedProjects(): string[] {
  const packages = ["packages", "examples"].flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder)).map((name) => `${folder}/${name}`),
  );
  return [
    ".",
    ...packages,
    "scripts",
    "test",
    "test/conformance",
    "test/browser",
    "load-tests",
    "load-tests/bench/floor",
    "load-tests/measure/workers",
  ].filter((project) => existsSync(join(repositoryRoot, project, "tsconfig.json")));
}

/** **The checks of the sources in `npm run check` and `npm test`**: types, settings, format and lint, type-aware lint, and unused exports. */
export function checkSteps(): Step[] {
  return [
    ...typedProjects().map((project) => commandStep(`types of ${project}`, "tsc", ["-p", project])),
    generatedFilesStep(),
    commandStep("format and lint", "biome", ["check", "--colors=off", "--diagnostic-level=warn", "."]),
    commandStep("lint with types", "oxlint", ["--type-aware", "--deny-warnings", "."]),
    commandStep("unused files and exports", "knip", ["--no-progress"]),
  ];
}

/** Compares the wrangler files and the pages of `docs/reference/` with their sources. */
function generatedFilesStep(): Step {
  return {
    name: "generated files are current",
    run: (print) => {
      const stale = staleFiles();
      for (const path of stale) print(`${path} differs from its source: npm run check -- --write`);
      return Promise.resolve(stale.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
    },
  };
}
