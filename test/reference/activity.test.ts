import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { isShownEvent } from "../../packages/op-auth/src/account/activity.tsx";
import { readRepositoryFile } from "../../scripts/reference/repository-files.ts";

/** Actions of applications, not of a person's account. */
const others = ["client.use"];

test("every event that a person or an administrator causes in an account is shown on the activity page", () => {
  const files = globSync("packages/{op-auth/src,op-management/src/users}/**/*.{ts,tsx}");
  const actions = files.flatMap((file) =>
    [...readRepositoryFile(file).matchAll(/action: "([a-z_]+\.[a-z_]+)"/g)].map(([, action]) => action!),
  );
  expect(actions.length).toBeGreaterThan(20);
  expect(actions.filter((action) => !isShownEvent(action) && !others.includes(action))).toEqual([]);
});
