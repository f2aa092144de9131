/**
 * **The causes of control changes**, which stop every shard and isolate for a moment: administrators, and the modules listed here with their bounds.
 * A new module that commits one is added here, with its bound.
 */

import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const committers: Readonly<Record<string, string>> = {
  "packages/op-management/src/admin/commit-change.ts": "called by the modules below and by the admin API",
  "packages/op-management/src/clients/create-client.ts":
    "only for an id that an administrator chose; a registration is no change",
  "packages/op-management/src/registration/manage-registration.ts":
    "spendChange: a budget of the client and of all such clients",
  "packages/op-state/src/keys/key-announcement.ts":
    "each change of the key schedule, by its clock or by an administrator",
  "packages/op-auth/src/account/commit-address.ts": "each change of an address needs a code that was mailed to it",
  "packages/op-auth/src/account/delete-account.tsx": "ten an hour for a person (require-person.ts)",
  "packages/op-auth/src/account/profile-sections.tsx": "ten an hour for a person (require-person.ts)",
  "packages/op-auth/src/account/other-addresses.tsx": "ten an hour for a person (require-person.ts)",
  "packages/op-auth/src/account/take-back.ts": "once for each change that is taken back, by a link that was mailed",
  "packages/op-auth/src/sign-in/restore-step.tsx": "once after each deletion",
  "packages/op-auth/src/passwords/replace-password.ts":
    "each change counts as an attempt at the password, or needs a mailed code",
};

/** Each of these requires an access token with an admin scope. */
const adminApi = /^packages\/op-management\/src\/(?!registration\/)/;

test("every path that commits a control change is the admin API or has a budget", () => {
  const importing = globSync("packages/*/src/**/*.{ts,tsx}").filter((file) => {
    const text = readFileSync(file, "utf8");
    const commits =
      /^import .*\b(commit(Control)?Change|changeAs)\b/m.test(text) ||
      /\b(clients|issuers|resources|users)\.(create|update|remove)\(/.test(text);
    return commits && (Object.hasOwn(committers, file) || !adminApi.test(file));
  });
  expect(importing.toSorted()).toEqual(Object.keys(committers).toSorted());
});
