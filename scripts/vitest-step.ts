import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../packages/local-provider/src/workers.ts";
import { runCommand, type Step, type Tally } from "./steps.ts";

/** The fields used of Vitest's JSON report. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

const reportPath = join("test-output", "vitest.json");

/** **Every Vitest project**, counted test by test. A test that is skipped, or a file that does not load, is a failure. */
export function vitestStep(vitestArguments: readonly string[]): Step {
  return {
    name: "tests",
    async run() {
      const report = join(repositoryRoot, reportPath);
      rmSync(report, { force: true });
      const { code } = await runCommand(
        "vitest",
        [
          "run",
          "--silent=passed-only",
          "--reporter=default",
          "--reporter=json",
          `--outputFile.json=${reportPath}`,
          ...vitestArguments,
        ],
        { show: true },
      );
      return count(existsSync(report) ? (JSON.parse(readFileSync(report, "utf8")) as Report) : undefined, code);
    },
  };
}

function count(report: Report | undefined, code: number): Tally {
  if (report === undefined) return { passed: 0, failed: 1 };
  const unloaded = report.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  ).length;
  const failed = report.numFailedTests + report.numPendingTests + report.numTodoTests + unloaded;
  // For an error outside any test, Vitest only exits with a code.
  return { passed: report.numPassedTests, failed: code !== 0 && failed === 0 ? 1 : failed };
}
