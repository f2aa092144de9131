import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { runCommand } from "../../scripts/steps.ts";

/** What `npm test` prints (scripts/file-reporter.ts), of one file that passes and one that fails. */
const folder = mkdtempSync(join(tmpdir(), "edge-op-reporter-"));
let lines: readonly string[];

beforeAll(async () => {
  const passes = `test("passes", () => { console.log("expected"); process.stderr.write("Error: expected\\n"); });`;
  const fails = `test("refuses", () => { console.log("seen"); process.stderr.write("Error: seen\\n"); expect(1).toBe(2); });`;
  writeFileSync(join(folder, "a.test.ts"), `${passes}\n${passes}`);
  // The largest file runs first. What the other one writes late would be shown as its output.
  writeFileSync(join(folder, "b.test.ts"), `${fails}\ntest("also passes", () => {});\n${"// large\n".repeat(500)}`);
  const reporter = `--reporter=${join(repositoryRoot, "scripts/file-reporter.ts")}`;
  const words = ["run", "--root", folder, "--globals", "--no-file-parallelism", "--silent=passed-only", reporter];
  const { output } = await runCommand("vitest", words);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors.
  lines = output.replace(/\u001b\[\d+m/g, "").split("\n");
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a file that passes has one line, and what it writes is not shown", () => {
  expect(lines.filter((line) => line.includes("a.test.ts"))).toEqual([
    expect.stringMatching(/✓ a\.test\.ts \(2 tests\)/),
  ]);
  expect(lines.filter((line) => line.includes("expected") && !line.includes("expected 1 to be 2"))).toEqual([]);
});

test("a file that fails is shown with its failure, its console and the output of its processes", () => {
  expect(lines).toContain("seen");
  expect(lines).toContain("Error: seen");
  expect(lines).toContain("AssertionError: expected 1 to be 2 // Object.is equality");
  expect(lines.filter((line) => line.includes("also passes") && !line.includes("test("))).toEqual([]);
});
