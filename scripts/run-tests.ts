import { existsSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join, relative } from "node:path";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";
import { runCommand, type Tally } from "./steps.ts";

/** The used fields of a file in Vitest's JSON report. A file that runs in two projects appears twice. */
export interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

interface Run {
  /** `undefined`: Vitest wrote no report. */
  readonly files: readonly FileResult[] | undefined;
  readonly code: number;
}

const reportPath = join("test-output", "vitest.json");
/** If more files than this fail, a busy machine is not the reason. */
const maxRepeatedFiles = 3;

/**
 * **Runs the tests** of all Vitest projects, or those that the arguments select, and counts them one by one. A test that is skipped, or a file that
 * does not load, is a failure. In CI, up to three failed files are run once more, alone, and are named at the end, because tests of running Workers
 * depend on the machine's load.
 */
export async function runTests(vitestArguments: readonly string[]): Promise<Tally> {
  const first = await runVitest(vitestArguments);
  const failed = failedFiles(first.files ?? []);
  if (process.env["CI"] !== "true" || failed.length === 0 || failed.length > maxRepeatedFiles) return count(first);
  const names = failed.map((name) => relative(repositoryRoot, name)).join(", ");
  console.log(`\nFAILED, and run once more: ${names}`);
  const second = await runVitest(failed);
  console.log(`${second.code === 0 ? "PASSED" : "FAILED"} when run once more: ${names}`);
  return count({ files: withRepeated(first.files!, second.files), code: second.code });
}

const memoryDisk = "/dev/shm";
const roomyBytes = 8e9;

/** The stores of the tests write to the disk at each commit: in memory, where there is room, this takes no time. */
function storesInMemory(): boolean {
  if (process.env["TMPDIR"] !== undefined || !existsSync(memoryDisk)) return false;
  const { bavail, bsize } = statfsSync(memoryDisk);
  return bavail * bsize >= roomyBytes;
}

async function runVitest(vitestArguments: readonly string[]): Promise<Run> {
  const report = join(repositoryRoot, reportPath);
  rmSync(report, { force: true });
  if (storesInMemory()) process.env["TMPDIR"] = memoryDisk;
  const reporters = [
    "--silent=passed-only",
    "--reporter=./scripts/file-reporter.ts",
    "--reporter=json",
    `--outputFile.json=${reportPath}`,
  ];
  const { code } = await runCommand("vitest", ["run", ...reporters, ...vitestArguments], { show: true });
  if (!existsSync(report)) {
    console.log("Vitest wrote no report. What was written before it ended is in test-output/output.log.");
    return { files: undefined, code };
  }
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as { readonly testResults: readonly FileResult[] };
  return { files: testResults, code };
}

function failedFiles(files: readonly FileResult[]): readonly string[] {
  return [...new Set(files.filter(({ status }) => status === "failed").map(({ name }) => name))];
}

/** The results of the first run, in which those of repeated files are replaced. */
export function withRepeated(
  first: readonly FileResult[],
  second: readonly FileResult[] | undefined,
): readonly FileResult[] | undefined {
  const repeated = failedFiles(first);
  if (second === undefined || !repeated.every((name) => second.some((file) => file.name === name))) return undefined;
  return [...first.filter(({ name }) => !repeated.includes(name)), ...second];
}

export function count({ files, code }: Run): Tally {
  if (files === undefined) return { passed: 0, failed: 1 };
  const unloaded = files.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  ).length;
  const tests = files.flatMap(({ assertionResults }) => assertionResults);
  for (const { fullName } of tests.filter(({ status }) => !["passed", "failed"].includes(status))) {
    console.log(`NOT RUN, which counts as a failure: ${fullName}`);
  }
  const passed = tests.filter(({ status }) => status === "passed").length;
  const failed = tests.length - passed + unloaded;
  // For an error outside any test, Vitest only exits with a code.
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed };
}
