/**
 * **Data about people has one door** (packages/shared/src/storage/people.ts): which files have statements that name a table of people, which of these
 * statements and which batches name other tables too, and why. Who may write is in person-writes.test.ts.
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
const rows = String.raw`\b(?:FROM|INTO|UPDATE|JOIN)\s+`;
const named = new RegExp(`${rows}(\\w+)`, "g");

const sources = globSync("packages/{op*,shared}/src/**/*.{ts,tsx}")
  .toSorted()
  .map((path) => ({ path: path.slice("packages/".length), text: readFileSync(path, "utf8") }));

/** Tables that a text names. Virtual tables of SQLite and column names after FROM are none. */
function tablesOf(text: string): readonly string[] {
  return [...text.matchAll(named)].map(([, table = ""]) => table).filter((table) => !/^json_|^[A-Z]/.test(table));
}

const namesPeople = (text: string) => tablesOf(text).some((table) => people.includes(table));

/** The argument of a call that begins at `start`. */
function argumentAt(text: string, start: number): string {
  let depth = 1;
  let quote = "";
  let at = start;
  for (; at < text.length && depth > 0; at += 1) {
    const character = text[at]!;
    if (quote !== "") {
      if (character === "\\") at += 1;
      else if (character === quote) quote = "";
    } else if (`"'\``.includes(character)) quote = character;
    else if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
  }
  return text.slice(start, at - 1);
}

const prepared = /([\w.#]+|peopleOf\([\w.#]+\))\s*\.prepare\(/g;

function statementsOf(text: string): readonly { readonly by: string; readonly sql: string }[] {
  return [...text.matchAll(prepared)].map((match) => ({
    by: match[1]!,
    sql: argumentAt(text, match.index + match[0].length).trim(),
  }));
}

/** Statements by name, in files that have statements about people too: of other tables alone. */
const otherStatements = [
  ...["oldestChanges", "endedCutOffs", "endedInvitations", "endedScimTokens"],
  'undeclaredName.replace("?2", "?1")',
  'retired("retired_subjects")',
];

/** Whether a statement in a file that names people is prepared by the wrong handle. */
function isAstray({ by, sql }: { readonly by: string; readonly sql: string }): boolean {
  const isOther = otherStatements.includes(sql) || (tablesOf(sql).length > 0 && !namesPeople(sql));
  return !isOther && !by.startsWith("peopleOf(");
}

/** Files whose statements about people are conditions in the statements of others. */
const conditions: Readonly<Record<string, string>> = {
  "op-auth/src/account/change-password.tsx": "the hash that is replaced: a guard of write-as.ts",
  "op-auth/src/session/known-browser.ts": "whether an event is recorded",
  "op-management/src/clients/create-client.ts": "a client_id that no sub has: asked before it, and in its statement",
  "op-management/src/users/user-rules.ts": "an address that nobody else has",
  "shared/src/secrets/hash-cost.ts": "the cost of hashes: part of the statement that finds a password",
};

/** Statements whose table is a parameter, and what it can be. */
const generic: Readonly<Record<string, string>> = {
  "op-auth/src/account/take-back.ts": "people",
  "op-management/src/admin/versioned-table.ts": "users, as one of the records of the admin API",
  "op-management/src/import/check-lines.ts": "retired subs of both databases",
  "op-management/src/import/export-routes.ts": "people",
  "op-management/src/import/insert-lines.ts": "people",
  "op-management/src/organizations/domain-store.ts": "claims of domains",
  "op-management/src/roles/assignment-store.ts": "roles of users, and what groups and roles give",
  "op-management/src/scim/directory-store.ts": "users or groups of a directory",
  "op-management/src/users/update-many.ts": "people",
  "op-state/src/backup/database-backup.ts": "every table",
  "op-state/src/sessions/sign-in-attempts.ts": "tables of the object",
  "op-state/src/sweeps/seal-secrets-again.ts": "every table with sealed secrets",
  "shared/src/audit/list-events.ts": "the audit database",
  "shared/src/held-records/held-records.ts": "users, as one of the records that a restored database holds",
  "shared/src/users/factors.ts": "people",
  "shared/src/users/personal-data.ts": "people",
  "shared/src/users/search-index.ts": "people",
};

test("a file whose statements name a table of people prepares them by peopleOf", () => {
  const astray = sources
    .filter(({ text, path }) => namesPeople(text) && !Object.hasOwn(conditions, path))
    .flatMap(({ path, text }) =>
      statementsOf(text)
        .filter(isAstray)
        .map(({ by, sql }) => `${path}: ${by} ${sql}`),
    );
  expect(astray).toEqual([]);
});

test("a statement about people that another handle prepares is found", () => {
  const astray = (text: string) => statementsOf(text).filter(isAstray).length;
  expect(astray("DB.prepare(`SELECT 1 FROM users`)")).toBe(1);
  expect(astray("this.#env.DB.prepare(select)")).toBe(1);
  expect(astray("peopleOf(this.#env.DB).prepare(select)")).toBe(0);
  expect(astray('DB.prepare("SELECT 1 FROM clients")')).toBe(0);
});

test("files with statements whose table is a parameter are known", () => {
  const found = sources.filter(({ text }) => new RegExp(`${rows}\\$\\{`).test(text)).map(({ path }) => path);
  expect(found).toEqual(Object.keys(generic).toSorted());
});

test("files that have only conditions about people prepare no statement about them", () => {
  const found = sources
    .filter(({ text }) => namesPeople(text) && !text.includes("peopleOf("))
    .map(({ path }) => path)
    .filter((path) => !Object.hasOwn(generic, path));
  expect(found).toEqual(Object.keys(conditions));
});

const rbac = "what the roles and groups of a person give";

/** Files with statements about people that name other tables too, joined or beside them: with people elsewhere, two reads or a copy of the record. */
const mixed: Readonly<Record<string, readonly [tables: string, reason: string]>> = {
  "op-auth/src/consent/consent-step.ts": ["clients", "a client is kept when somebody consents to it"],
  "op-auth/src/sign-in/insert-person.ts": [
    "invitations, organizations, retired_subs",
    "a new person uses an invitation, into an active organisation",
  ],
  "op-management/src/admin/delegate.ts": [
    "organization_role_permissions, organizations",
    "a write stands while the membership gives the permission",
  ],
  "op-management/src/admin/taken-ids.ts": [
    "clients, retired_subjects, retired_subs",
    "client_ids and subs are different",
  ],
  "op-management/src/attributes/attribute-routes.ts": ["attributes", "deleting a declaration deletes the values"],
  "op-management/src/import/check-lines.ts": [
    "clients, organizations, upstreams",
    "a line names providers and organisations; subs differ from client_ids",
  ],
  "op-management/src/import/insert-lines.ts": [
    "clients, retired_subs",
    "subs differ from client_ids, and are never given again",
  ],
  "op-management/src/organizations/member-rule.ts": [
    "organization_role_permissions",
    "what a membership gives decides who may change it",
  ],
  "op-management/src/organizations/member-store.ts": [
    "organizations",
    "the name of the organisation, and whether it exists",
  ],
  "op-management/src/roles/assignment-store.ts": ["group_roles, invitations, role_permissions", rbac],
  "op-management/src/roles/role-authority.ts": ["group_roles, role_permissions", rbac],
  "op-management/src/scim/directory-store.ts": [
    "scim_group_roles, scim_groups, scim_members",
    "groups of a directory have its users",
  ],
  "op-management/src/upstreams/upstream-routes.ts": ["group_roles, role_permissions", rbac],
  "op-management/src/users/update-many.ts": ["attributes", "values are of declared attributes"],
  "op-management/src/users/user-table.ts": [
    "attributes, clients, retired_subs",
    "the same; subs differ from client_ids",
  ],
  "op-state/src/mail/find-change.ts": ["admin_events", "a mail about a change waits for its event"],
  "op-state/src/mail/find-recipient.ts": ["branding", "a mail has the branding in force"],
  "op-state/src/sweeps/sweep-database.ts": [
    "control_changes, cut_offs, invitations, scim_tokens",
    "what has passed, of every table",
  ],
  "op-state/src/sweeps/sweep-leaving-users.ts": ["admin_events, control_changes", "a person leaves by a change"],
  "shared/src/control/commit-control-change.ts": ["control_changes", "whether a change has ended sessions"],
  "shared/src/users/consents.ts": ["clients", "a consent is to a client that exists"],
  "shared/src/users/identities.ts": ["upstreams", "names of providers"],
  "shared/src/users/organizations.ts": [
    "cut_offs, organization_role_permissions, organizations, scim_group_roles, scim_members",
    "what a membership gives, and what has ended it",
  ],
  "shared/src/users/user-directory.ts": ["group_roles, role_permissions", rbac],
};

/** Names of expressions in statements, and words in texts. */
const notTables = new Set(["admin", "groups", "held", "holders", "oldest", "roles", "session_ending"]);

test("files with statements about people that name other records are known", () => {
  const found = sources
    .filter(({ path, text }) => namesPeople(text) && !Object.hasOwn(conditions, path))
    .flatMap(({ path, text }) => {
      const literals = [...text.matchAll(/`[^`]*`|"[^"\n]*"/g)].map(([literal]) => literal).join("\n");
      const others = new Set(tablesOf(literals).filter((table) => !people.includes(table) && !notTables.has(table)));
      return others.size === 0 ? [] : [[path, [...others].toSorted().join(", ")]];
    });
  expect(found).toEqual(Object.entries(mixed).map(([path, [tables]]) => [path, tables]));
});

/** Batches that {@link peopleOf} does not run, and what they contain of people: one transaction today, and a change in two places then. */
const batches: Readonly<Record<string, string>> = {
  "op-auth/src/consent/consent-step.ts": "none: a client that somebody consents to",
  "op-auth/src/sign-in/insert-person.ts": "a new person, who uses an invitation",
  "op-management/src/admin/commit-change.ts": "changes of administrators that end nothing",
  "op-management/src/audit/verify-log.ts": "none",
  "op-management/src/audit/write-events.ts": "none",
  "op-management/src/import/check-lines.ts": "reads what lines name",
  "op-state/src/audit/audit-archive.ts": "none",
  "op-state/src/audit/audit-chain-watch.ts": "none",
  "op-state/src/audit/audit-retention.ts": "none",
  "op-state/src/changes/change-log.ts": "none",
  "op-state/src/cut-offs/cut-off-work.ts": "none",
  "op-state/src/generations/generation-work.ts": "none",
  "op-state/src/held-records/hold-records.ts": "users that are held",
  "op-state/src/keys/key-announcement.ts": "none",
  "op-state/src/revocation/register-at-database.ts": "none",
  "op-state/src/sweeps/seal-secrets-again.ts": "secrets of authenticator apps",
  "op-state/src/sweeps/sweep-clients.ts": "none by itself: consents go with their client",
  "op-state/src/sweeps/sweep-database.ts": "what has passed",
  "op-state/src/sweeps/sweep-leaving-users.ts": "a person who leaves, with the change",
  "shared/src/control/commit-control-change.ts": "every change of a person, with its number",
  "shared/src/storage/record-kinds.ts": "a record, with the version at which it is read",
};

test("every batch is run by peopleOf, or is known", () => {
  const batch = /([\w.#]+|peopleOf\([\w.#]+\))\s*\.batch\b/g;
  const found = sources.filter(({ text }) =>
    [...text.matchAll(batch)].some(([, by = ""]) => /\bDB$|database$/i.test(by)),
  );
  expect(found.map(({ path }) => path)).toEqual(Object.keys(batches));
});

/** Who reads a stored session, and what it takes from its proofs (packages/shared/src/sessions/usable-proofs.ts). */
const sessionReaders: Readonly<Record<string, string>> = {
  "op-auth/src/flow/in-session.ts use": "those that count for the organisation of the request",
  "op-auth/src/session/logout-endpoint.tsx read": "none: the session ends",
  "op-auth/src/session/signed-in-person.ts read":
    "those that count for the organisation of the flow; none for a name in the list of accounts",
};

test("O3: a stored session is read where proofs of other organisations are left out", () => {
  const found = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/\bsessions\.(read|use)\(/g)].map(([, method]) => `${path} ${method}`),
  );
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(sessionReaders).toSorted());
});
