import { describe, expect, test } from "vitest";
import { recordOfRow } from "../../packages/op-state/src/audit/admin-event-row.ts";
import { readRepositoryFile, repositoryFiles } from "../../scripts/reference/repository-files.ts";

/**
 * ADR 11: which record is held if a restored D1 has lost a change, for every kind of change that the sources make. A new kind fails here until
 * somebody has decided whether it takes something away.
 */
const nothing = undefined;
const user = { kind: "user", id: "target" };
const person = { kind: "user", id: "actor" };
const of = (kind: string) => ({ kind, id: "target" });

/** By action: the record, or nothing, because the change takes nothing away or what it takes away is in objects. */
const held: Readonly<Record<string, { readonly kind: string; readonly id: string } | undefined>> = {
  ...{ "account.deletion_asked": person, "account.deletion_near": nothing, "account.exported": nothing },
  "account.new_browser": nothing,
  ...{
    "account.provisioned": nothing,
    "account.renamed": nothing,
    "account.language_changed": nothing,
    "account.recovery_asked": nothing,
    "account.recovery_stopped": person,
    "account.restored": person,
  },
  ...{ "address.added": person, "address.changed": person, "address.removed": person },
  "account.taken_back": person,
  ...{ "attribute.create": nothing, "attribute.update": of("attribute"), "attribute.delete": of("attribute") },
  // A look takes nothing away; D1 has the branding of the moment that it was set back to.
  ...{ "branding.update": nothing, "branding.draft": nothing, "branding.delete": nothing },
  ...{ "client.create": nothing, "client.register": nothing, "client.update": of("client") },
  ...{ "client.delete": of("client"), "client.repair": of("client"), "client.expire": of("client") },
  ...{ "client.use": nothing, "client.cut-off": nothing, "client.held": of("client"), "client.decided": nothing },
  ...{ "consent.given": nothing, "consent.withdrawn": person },
  ...{ "deployment.back_up": nothing, "deployment.cut-off": nothing, "deployment.decide": nothing },
  "deployment.seal": nothing,
  ...{ "document-host.update": of("document-host"), "document-host.delete": of("document-host") },
  ...{ "export.users": nothing, "import.users": nothing, "generation.open": nothing, "grant.revoke": nothing },
  ...{ "group.update": of("group") },
  ...{ "identity.linked": person, "identity.unlinked": person },
  ...{
    "invitation.create": nothing,
    "invitation.delete": of("invitation"),
    "invitation.resend": of("invitation"),
  },
  ...{ "issuer.create": nothing, "issuer.update": of("issuer"), "issuer.delete": of("issuer") },
  ...{ "key.revoke": nothing, "key.revoked": nothing, "key.rotate": nothing },
  ...{
    "organization.create": nothing,
    "organization.update": of("organization"),
    "organization.delete": of("organization"),
  },
  ...{ "organization.scim_add": nothing, "organization.scim_group_add": nothing },
  ...{ "organization.scim_token_create": nothing, "organization.scim_token_delete": of("organization") },
  ...{ "organization.scim_update": of("organization"), "organization.scim_suspend": of("organization") },
  ...{ "organization.scim_remove": of("organization"), "organization.scim_group_roles": of("organization") },
  ...{ "organization.scim_group_update": of("organization"), "organization.scim_group_remove": of("organization") },
  ...{ "organization.member_add": nothing, "organization.member_update": of("organization") },
  ...{ "organization.domain_claim": nothing, "organization.domain_check": of("organization") },
  ...{ "organization.domain_decide": of("organization"), "organization.domain_delete": of("organization") },
  ...{ "organization.member_remove": of("organization"), "organization-role.update": of("organization-role") },
  ...{ "passkey.added": person, "passkey.removed": person },
  ...{ "password.changed": person, "password.recovered": person },
  ...{ "recovery_codes.made": person, "recovery_codes.removed": person, "recovery_codes.used": person },
  ...{ "resource.create": nothing, "resource.update": of("resource"), "resource.delete": of("resource") },
  ...{ "role.update": of("role") },
  ...{ "secret.rotate": of("client"), "secret.delete": of("client") },
  ...{ "sub.cut-off": nothing, "token.revoke": nothing },
  ...{ "totp.added": person, "totp.removed": person },
  ...{ "upstream.create": nothing, "upstream.update": of("upstream"), "upstream.delete": of("upstream") },
  ...{
    "user.create": nothing,
    "user.update": user,
    "user.delete": user,
    "user.sign_up": nothing,
    "terms.accepted": nothing,
    "user.export": nothing,
  },
  ...{ "user.factor_remove": user, "user.identity_remove": user, "user.reset_link": user },
  ...{
    "user.temporary_password": user,
    "user.session_end": nothing,
    "user.consent_end": user,
    "user.grant_end": nothing,
  },
};

/** Where an action is put together: the nouns of tables and of roles, what a person's access is, kinds of revocations, of factors. */
const composed: Readonly<Record<string, readonly string[]>> = {
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: as the sources have them.
  "`${noun}.${action}`": ["create", "update", "delete"],
  "`${noun}.update`": ["role.update", "group.update"],
  "`user.${noun}_end`": ["user.session_end", "user.consent_end", "user.grant_end"],
  "`organization.member_${verb}`": ["organization.member_update", "organization.member_remove"],
  "`organization.domain_${verb}`": ["claim", "check", "decide", "delete"].map((verb) => `organization.domain_${verb}`),
  "`organization.${action}`": ["organization.scim_add", "organization.scim_update", "organization.scim_suspend"],
  '`organization.${known === undefined ? "scim_group_add" : "scim_group_update"}`': [
    "organization.scim_group_add",
    "organization.scim_group_update",
  ],
  "`${kind}.revoke`": ["token.revoke", "grant.revoke"],
  "`${kind}.cut-off`": ["sub.cut-off", "client.cut-off"],
  "`${factor.kind}.removed`": ["totp.removed", "recovery_codes.removed"],
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: as the sources have them.
};

const sources = repositoryFiles("packages").filter((path) => /^packages\/[\w-]+\/src\/.*\.tsx?$/.test(path));
const texts = sources.map(readRepositoryFile);
const find = (pattern: RegExp) => [
  ...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, found = ""]) => found))),
];

describe("ADR 11: a change that a restored database has lost", () => {
  test.each(Object.entries(held))("%s", (action, record) => {
    const found = recordOfRow({ action, target: "target", sub: "actor", detail: "{}" });
    expect(found).toEqual(record && { ...record, action });
  });

  test.each(["user.sign_up", "invitation.resend"])("%s ends the invitation that it used or replaced", (action) => {
    const member = action === "user.sign_up" ? "invitation" : "replaced";
    const row = { action, target: "new", sub: "actor", detail: JSON.stringify({ [member]: "old" }) };
    expect(recordOfRow(row)).toEqual({ kind: "invitation", id: "old", action });
  });

  test("the table has every action of the sources, and every way to compose one", () => {
    const literal = find(/\baction: "([\w-]+\.[\w-]+)"/g);
    const inSql = find(/(?:SELECT|VALUES)[^;`]*'((?:client|user)\.[a-z_]+)'/g);
    expect(literal.length).toBeGreaterThan(40);
    expect([...literal, ...inSql].filter((action) => !Object.hasOwn(held, action))).toEqual([]);
    expect(find(/\baction: (`[^`/]+`)/g).toSorted()).toEqual(Object.keys(composed).toSorted());
    const nouns = texts
      .filter((text) => text.includes("new VersionedTable({"))
      .flatMap((text) => /noun: "([\w-]+)"/.exec(text)?.[1] ?? []);
    expect(nouns.length).toBeGreaterThan(5);
    const named = Object.entries(composed).flatMap(([how, actions]) =>
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as above.
      how === "`${noun}.${action}`" ? nouns.flatMap((noun) => actions.map((verb) => `${noun}.${verb}`)) : actions,
    );
    expect(named.filter((action) => !Object.hasOwn(held, action))).toEqual([]);
  });
});
