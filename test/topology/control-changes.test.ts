import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/**
 * **Who can cause a control change**, which stops every shard and isolate for a moment: administrators, and what is listed here with what bounds it. A module that
 * begins to commit one is added here, with its bound.
 */
const committers: Readonly<Record<string, string>> = {
  "packages/op-management/src/admin/commit-change.ts": "called by the modules below and by the admin API",
  "packages/op-management/src/clients/create-client.ts":
    "only for an id that an administrator chose; a registration is no change",
  "packages/op-management/src/registration/manage-registration.ts":
    "spendChange: a budget of the client and of all such clients",
  "packages/op-auth/src/account/change-password.tsx": "each change counts as an attempt at the password",
};

test("every path that commits a control change is the admin API or has a budget", () => {
  const importing = globSync("packages/*/src/**/*.{ts,tsx}").filter((file) => {
    const text = readFileSync(file, "utf8");
    return /^import .*\bcommit(Control)?Change\b/m.test(text) && !file.startsWith("packages/op-management/src/admin/");
  });
  expect(importing.toSorted()).toEqual(Object.keys(committers).toSorted());
});
