import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";

/** The sources that name `name` as a member or variable. */
function filesNaming(name: string): string[] {
  const files = readdirSync(join(repositoryRoot, "packages"), { recursive: true, encoding: "utf8" });
  return files
    .filter((path) => /^[^/]+\/src\/.*\.tsx?$/.test(path))
    .filter((path) => new RegExp(`\\b${name}\\b`).test(readFileSync(join(repositoryRoot, "packages", path), "utf8")))
    .toSorted();
}

test("a login attribute is named where its type is, where it is set and where it is written, and in no file between", () => {
  expect(filesNaming("authTimeSeconds")).toEqual([
    "op-auth/src/response/plan-grant.ts",
    "op-management/src/introspection/introspection-response.ts",
    "protocol/src/oauth/login-context.ts",
  ]);
  expect(filesNaming("pairwiseSub").filter((path) => /^(op-state|shared\/src\/grants)\//.test(path))).toEqual([]);
});
