/**
 * **W: every write about a person is conditional, in its own transaction, on what allowed it** (packages/op-auth/src/session/write-as.ts). A new
 * statement that writes a table of people, and a new place of op-auth that runs statements itself, is added here with its condition.
 */

import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { personalTables } from "../../packages/shared/src/users/personal-data.ts";

const people = [
  ...personalTables.map(({ table }) => table),
  "ending_sessions",
  "upstream_sessions",
  "upstream_endings",
];

const guarded = "guards of write-as.ts: what the request rests on is in force, and what it read is unchanged";
const administrator = "the version of the record that an administrator changes (VersionedTable), or its existence";
const newPerson = "nobody has the sub, username, address, identity or invitation";
const passed = "the time in the row has passed";
const end = "none: an end. It is repeated until it is complete, and what it ends is named by its id";

/** The statements of each file, and the condition of each. `*`: the table is a parameter. */
const writes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "edge-op/src/administrators.ts": { "DELETE *": "the role gives no admin scope yet; the command has the database" },
  "edge-op/src/backup-statements.ts": {
    "DELETE *": "a database that is restored",
    "INSERT *": "the same",
    "UPDATE users": "the same",
  },
  "op-auth/src/account/commit-address.ts": {
    "INSERT user_addresses": guarded,
    "UPDATE user_addresses": guarded,
    "UPDATE users": guarded,
  },
  "op-auth/src/account/other-addresses.tsx": { "UPDATE user_addresses": guarded },
  "op-auth/src/account/profile-sections.tsx": { "UPDATE users": guarded },
  "op-auth/src/account/take-back.ts": {
    "DELETE *": guarded,
    "DELETE consents": guarded,
    "DELETE user_addresses": guarded,
    "DELETE user_recovery_codes": guarded,
    "UPDATE user_addresses": guarded,
    "UPDATE user_passwords": guarded,
    "UPDATE users": guarded,
  },
  "op-auth/src/factors/factor-store.ts": {
    "INSERT user_recovery_codes": guarded,
    "INSERT user_totp": guarded,
    "UPDATE user_recovery_codes": "the code is unused",
    "UPDATE user_totp": "the code is of a later time than the last",
  },
  "op-auth/src/session/address-recovery.ts": {
    "DELETE account_recoveries": guarded,
    "DELETE user_recovery_codes": guarded,
    "DELETE user_totp": guarded,
    "INSERT account_recoveries": `${guarded}; the person has none, and the address is theirs`,
    "UPDATE account_recoveries": "it is the one that the link names, or the session is listed",
    "UPDATE users": guarded,
  },
  "op-auth/src/session/agreed-terms.ts": { "UPDATE users": guarded },
  "op-auth/src/sign-in/insert-person.ts": {
    "INSERT users": newPerson,
    "INSERT membership_roles": "the invitation is unused, and its address theirs",
    "INSERT memberships": "the invitation is unused, its address theirs and its organisation active",
    "INSERT user_groups": newPerson,
    "INSERT user_roles": newPerson,
  },
  "op-auth/src/upstream/global-token-revocation.ts": {
    "INSERT upstream_endings": `${end}: a message, which counts once and for one person`,
  },
  "op-auth/src/upstream/identity-store.ts": {
    "INSERT user_identities": `${guarded}; of a new person: ${newPerson}`,
    "UPDATE user_identities": "the identity exists: the time of its use",
  },
  "op-auth/src/upstream/provision-user.ts": { "INSERT users": newPerson },
  "op-management/src/admin/versioned-table.ts": { "UPDATE *": administrator },
  "op-management/src/attributes/attribute-routes.ts": { "UPDATE users": administrator },
  "op-management/src/import/insert-lines.ts": {
    "DELETE user_addresses": passed,
    "INSERT *": newPerson,
    "UPDATE users": newPerson,
  },
  "op-management/src/admin/delegate.ts": {
    "INSERT memberships": "none is written: it fails where a condition is true",
  },
  "op-management/src/organizations/member-store.ts": {
    "DELETE membership_roles": administrator,
    "DELETE memberships": administrator,
    "INSERT membership_roles": administrator,
    "INSERT memberships": administrator,
    "UPDATE memberships": administrator,
  },
  "op-management/src/scim/directory-store.ts": {
    "DELETE scim_users": "the version of the user that was read",
    "INSERT scim_users":
      "nobody of the organisation has the userName and the externalId; a condition of the transaction",
    "UPDATE scim_users": "the version of the user that was read, and for a connection the domain and the address",
  },
  "op-management/src/scim/end-person.ts": {
    "UPDATE users": "the account is as it was read: nothing else gives it anything",
  },
  "op-management/src/roles/assignment-store.ts": { "DELETE *": administrator, "INSERT *": administrator },
  "op-management/src/users/update-many.ts": {
    "DELETE *": administrator,
    "INSERT *": administrator,
    "UPDATE users": administrator,
  },
  "op-state/src/sweeps/seal-secrets-again.ts": { "UPDATE *": "the secret is the one that was opened" },
  "op-state/src/sessions/session-endings.ts": {
    "DELETE ending_sessions": end,
    "DELETE user_sessions": end,
    "INSERT ending_sessions": end,
  },
  "op-state/src/sweeps/sweep-database.ts": {
    "DELETE account_recoveries": passed,
    "DELETE ending_sessions": passed,
    "DELETE user_addresses": passed,
    "DELETE user_grants": passed,
    "DELETE user_passwords": passed,
    "DELETE user_sessions": passed,
    "DELETE upstream_endings": passed,
  },
  "op-state/src/sweeps/sweep-leaving-users.ts": { "DELETE users": passed },
  "op-state/src/sessions/session-store.ts": { "DELETE user_sessions": end },
  "op-state/src/sessions/sign-in-attempts.ts": { "DELETE *": "a table of the object" },
  "shared/src/held-records/held-records.ts": {
    "DELETE *": administrator,
    "INSERT *": administrator,
    "UPDATE *": administrator,
  },
  "shared/src/users/consents.ts": { "DELETE consents": end, "INSERT consents": guarded, "UPDATE consents": end },
  "shared/src/users/credentials.ts": {
    "DELETE user_passwords": administrator,
    "INSERT user_passwords": `${guarded}; of a new person: ${newPerson}; else ${administrator}`,
    "INSERT webauthn_credentials": `${guarded}; of a new person: ${newPerson}`,
    "UPDATE user_passwords": "the hash is the one that was verified",
    "UPDATE webauthn_credentials": `${guarded}; the time of its use: the passkey exists`,
  },
  "shared/src/users/factors.ts": {
    "DELETE *": `${guarded}; else ${administrator}`,
    "DELETE user_recovery_codes": "the same",
    "UPDATE users": "the same",
  },
  "shared/src/users/identities.ts": {
    "DELETE user_identities": `${guarded}; else ${administrator}`,
    "UPDATE users": "the same",
  },
  "shared/src/users/user-directory.ts": { "UPDATE users": guarded },
  "shared/src/users/offline-grants.ts": {
    "DELETE user_grants": end,
    "INSERT user_grants": "the consent covers it, or is given in the same transaction",
  },
  "shared/src/users/search-index.ts": {
    "DELETE user_search": "the user is as the words were made from, in the same transaction",
    "INSERT user_search": "the same",
    "UPDATE users": "the same: what the words were made from",
  },
  "shared/src/users/user-addresses.ts": {
    "DELETE user_addresses": `${passed}; else ${administrator}`,
    "INSERT user_addresses": `${newPerson}; else ${administrator}`,
  },
  "shared/src/sessions/upstream-statements.ts": {
    "INSERT upstream_endings": `${end}: a message, which counts once`,
    "INSERT upstream_sessions": "the session is listed, in the same transaction",
  },
  "shared/src/sessions/user-sessions.ts": {
    "DELETE user_grants": passed,
    "INSERT ending_sessions": end,
    "DELETE user_sessions": `${passed}; else ${end}`,
    "INSERT user_sessions":
      "no change has cut its person off since the sign-in, nor ended it, nor withdrawn the consent of its client",
  },
};

/** Places of op-auth that run statements themselves. */
const runners: Readonly<Record<string, string>> = {
  "account/activity.tsx": "an event alone",
  "consent/consent-step.ts": "a client, not a person",
  "factors/factor-store.ts": "spends a code, under its own condition",
  "session/address-recovery.ts": "stops a recovery, under its own condition; an event alone",
  "session/known-browser.ts": "an event alone",
  "session/write-as.ts": "with its guards",
  "sign-in/insert-person.ts": newPerson,
  "upstream/global-token-revocation.ts": "a message of a provider, which counts once; it writes nothing of a person",
  "upstream/identity-store.ts": "the time of a use",
  "upstream/provision-user.ts": newPerson,
};

const statement = /\b(INSERT(?: OR [A-Z]+)? INTO|UPDATE|DELETE FROM)\s+(\$\{[\w.]+\}|\w+)/g;

function writesOf(text: string): readonly string[] {
  const found = [...text.matchAll(statement)].map(([, verb = "", table = ""]) => {
    const name = table.startsWith("$") ? "*" : table;
    return name === "*" || people.includes(name) ? [`${verb.split(" ")[0]} ${name}`] : [];
  });
  return [...new Set(found.flat())].toSorted();
}

test("every statement that writes a table of people has a condition", () => {
  const found = globSync("packages/*/src/**/*.{ts,tsx}").map(
    (file) => [file, writesOf(readFileSync(file, "utf8"))] as const,
  );
  const writing = Object.fromEntries(found.filter(([, each]) => each.length > 0).toSorted());
  const listed = Object.entries(writes).map(([file, each]) => [`packages/${file}`, Object.keys(each).toSorted()]);
  expect(writing).toEqual(Object.fromEntries(listed));
});

test("pages and steps write through writeAs and changeAs, or are listed with their condition", () => {
  const root = "packages/op-auth/src/";
  const running = globSync(`${root}**/*.{ts,tsx}`).filter((file) => {
    const text = readFileSync(file, "utf8");
    const isReading = file.endsWith("find-by-address.ts");
    return !isReading && /\.batch(<[^>]*>)?\(|\.run\(\)|\bcommitControlChange\(/.test(text);
  });
  expect(running.map((file) => file.slice(root.length)).toSorted()).toEqual(Object.keys(runners));
});
