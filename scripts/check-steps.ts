import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { findAllConflicts } from "../packages/local-provider/src/worker-configs.ts";
import { repositoryRoot } from "../packages/local-provider/src/workers.ts";
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
    agreementStep(),
    commandStep("format and lint", "biome", ["check", "--colors=off", "--diagnostic-level=warn", "."]),
    commandStep("lint with types", "oxlint", ["--type-aware", "--deny-warnings", "."]),
    commandStep("unused files and exports", "knip", ["--no-progress"]),
  ];
}

/** The wrangler files agree about shared settings and stores. */
function agreementStep(): Step {
  return {
    name: "Workers agree on their settings",
    run: (print) => {
      const conflicts = findAllConflicts();
      for (const conflict of conflicts) print(conflict);
      return Promise.resolve(conflicts.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
    },
  };
}
