import { expect, test } from "vitest";
import { count, type FileResult, withRepeated } from "../../scripts/run-tests.ts";

/** The result that CI counts after it has run failed files once more (scripts/run-tests.ts). */
function file(name: string, ...statuses: string[]): FileResult {
  const status = statuses.every((one) => one === "passed") && statuses.length > 0 ? "passed" : "failed";
  return { name, status, assertionResults: statuses.map((one) => ({ status: one, fullName: "" })) };
}

const first = [file("a", "passed", "passed"), file("b", "passed", "failed"), file("b", "passed", "passed")];

test("a file that passes when repeated counts with its second result, in each of its projects", () => {
  const files = withRepeated(first, [file("b", "passed", "passed"), file("b", "passed", "passed")]);
  expect(count({ files, code: 0 })).toEqual({ passed: 6, failed: 0 });
});

test("a file that fails again is a failure, also in the other project", () => {
  const files = withRepeated(first, [file("b", "passed", "passed"), file("b", "failed", "passed")]);
  expect(count({ files, code: 1 })).toEqual({ passed: 5, failed: 1 });
});

test("a second run that lacks a file is a failure", () => {
  expect(count({ files: withRepeated(first, []), code: 0 })).toEqual({ passed: 0, failed: 1 });
});

test("a skipped test, a file that does not load and an error outside tests are failures", () => {
  expect(count({ files: [file("a", "passed", "skipped")], code: 0 })).toEqual({ passed: 1, failed: 1 });
  expect(count({ files: [file("a")], code: 1 })).toEqual({ passed: 0, failed: 1 });
  expect(count({ files: [file("a", "passed")], code: 1 })).toEqual({ passed: 1, failed: 1 });
});
