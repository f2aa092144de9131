import { expect, test } from "vitest";
import { readRepositoryFile, repositoryFiles } from "../../scripts/reference/repository-files.ts";

const sources = repositoryFiles("packages").filter((path) => /^packages\/[^/]+\/src\/.*\.tsx?$/.test(path));

/** The sources that name `name` as a member or variable. */
function filesNaming(name: string): string[] {
  const named = new RegExp(`\\b${name}\\b`);
  return sources
    .filter((path) => named.test(readRepositoryFile(path)))
    .map((path) => path.replace("packages/", ""))
    .toSorted();
}

test("a login attribute is named where its type is, where it is set and where it is written, and in no file between", () => {
  expect(filesNaming("authTimeSeconds")).toEqual([
    "op-auth/src/authorization/plan-grant.ts",
    "op-management/src/introspection/introspection-response.ts",
    "protocol/src/oauth/login-context.ts",
  ]);
  expect(filesNaming("pairwiseSub").filter((path) => /^(op-state|shared\/src\/grants)\//.test(path))).toEqual([]);
});
