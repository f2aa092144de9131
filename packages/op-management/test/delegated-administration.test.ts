import { beforeEach, describe, expect, it } from "vitest";
import { delegatedRoutes } from "../src/delegated-routes.ts";
import { AdminCaller, bindings, type CallOptions, dumpDatabase, issuer, leasing } from "./fixtures/admin-fixtures.ts";
import { AdminMails } from "./fixtures/admin-mails.ts";

/**
 * `/organizations/{org_id}`: O8 (a delegated administrator changes and sees nothing of another organisation) and O9 (nobody gives or ends what needs
 * a permission that they lack; an owner stays). The routes are those of the table, so a new one is tested without a new test.
 */
const { DB } = bindings;
const audiences = [`${issuer}/organizations`];

const roles = {
  owner: ["org:owner"],
  hr: ["org:members"],
  it: ["org:connection", "org:scim"],
  office: ["org:settings"],
  billing: ["invoices:read"],
} as const;

/** Members of acme and their role; `omar` is an owner of the other organisation. */
const members = { olga: "owner", hana: "hr", ivan: "it", otto: "office", bill: "billing" } as const;

let admin: AdminCaller;
const tokens = new Map<string, string>();

beforeEach(async () => {
  admin = new AdminCaller(new AdminMails({ SIGN_UP: "invitation" }).env);
  for (const sub of [...Object.keys(members), "omar", "paul", "nina"]) {
    await admin.call("POST", "/users", { body: { sub, username: sub, claims: { phone_number: "+49301" } } });
  }
  for (const [role, permissions] of Object.entries(roles)) {
    await admin.call("PUT", `/organization-roles/${role}`, { body: { permissions } });
  }
  for (const orgId of ["acme", "beta"])
    await admin.call("POST", "/organizations", { body: { org_id: orgId, name: orgId } });
  for (const [sub, role] of Object.entries(members)) await join("acme", sub, [role]);
  await join("beta", "omar", ["owner"]);
  await admin.call("PUT", "/organizations/acme/domains/acme.example");
  for (const [sub, orgId] of [...Object.keys(members).map((name) => [name, "acme"]), ["omar", "beta"]]) {
    tokens.set(sub!, await admin.issueToken({ user: sub!, orgId: orgId!, audiences, scope: [] }));
  }
});

const join = (orgId: string, sub: string, given: readonly string[]) =>
  admin.call("PUT", `/organizations/${orgId}/members/${sub}`, { body: { roles: given } });

const as = (sub: string, method: string, path: string, options: CallOptions = {}) =>
  admin.call(method, path, { token: tokens.get(sub)!, below: "/organizations", ...options });

const rolesOf = async (sub: string) => (await admin.call("GET", `/organizations/acme/members/${sub}`)).body?.roles;

const bodies: Readonly<Record<string, object>> = {
  replaceMember: { roles: ["billing"] },
  updateOrganization: { name: "Taken over" },
  inviteMember: { email: "new@example.org", roles: ["billing"] },
  createScimToken: { name: "Entra" },
  replaceScimGroup: { roles: ["billing"] },
};
const values: Readonly<Record<string, string>> = {
  ...{
    "{sub}": "bill",
    "{domain}": "acme.example",
    "{token_id}": "unknown",
    "{group_id}": "unknown",
    "{invitation_id}": "unknown",
  },
};
/** Nothing is there to be deleted or changed, or a resolver does not answer. */
const outcomes: Readonly<Record<string, number>> = {
  withdrawMemberInvitation: 404,
  checkDomain: 200,
  deleteScimToken: 404,
  replaceScimGroup: 404,
};
const request = ({ path, route }: (typeof delegatedRoutes)[number], orgId: string) => ({
  method: route.method,
  path: Object.entries(values).reduce(
    (text, [name, value]) => text.replace(name, value),
    path.replace("{org_id}", orgId),
  ),
  body: route.body === undefined ? undefined : (bodies[route.operationId] ?? {}),
});

describe("O8: every route", () => {
  it.each(delegatedRoutes)(
    "$route.method $path is for members of this organisation with its permission",
    async (served) => {
      const { method, path, body } = request(served, "acme");
      const before = await dumpDatabase();
      const status = async (token: string | null, to = path, headers = {}) => {
        const answer = await admin.call(method, to, { token, below: "/organizations", body, headers });
        expect(JSON.stringify(answer.body ?? "")).not.toContain("+49301");
        return answer.status;
      };
      const forUser = (user: string, given: object) => admin.issueToken({ user, audiences, scope: [], ...given });
      const [mine, other] = [tokens.get("olga")!, tokens.get("omar")!];
      expect(await status(null)).toBe(401);
      expect(await status(await forUser("olga", { orgId: "acme", audiences: [`${issuer}/admin`, issuer] }))).toBe(401);
      expect(await status(other)).toBe(404);
      expect(await status(await forUser("olga", {}))).toBe(404);
      expect(await status(await admin.issueToken({ audiences }))).toBe(404);
      expect(await status(mine, request(served, "beta").path)).toBe(404);
      expect(await status(mine, request(served, "unknown").path)).toBe(404);
      for (const spelled of ["%62eta", "acme%2F..%2Fbeta", "beta%00", "ACME", "acme/../beta", "acme//"]) {
        expect(await status(mine, request(served, spelled).path), spelled).toBeGreaterThanOrEqual(400);
      }
      const forged = { "x-forwarded-host": "beta.example.com", "x-original-url": request(served, "beta").path };
      expect(await status(other, path, forged)).toBe(404);
      expect(await status(tokens.get("bill")!)).toBe(403);
      for (const sub of ["hana", "ivan", "otto"] as const) {
        const [first] = roles[members[sub]] as readonly string[];
        const may = served.needed === undefined || (roles[members[sub]] as readonly string[]).includes(served.needed);
        if (!may) expect(await status(tokens.get(sub)!), `${sub} has ${first}`).toBe(403);
      }
      expect(await dumpDatabase()).toBe(before);
      const outcome = await status(mine);
      if (served.route.operationId in outcomes) expect(outcome).toBe(outcomes[served.route.operationId]);
      else expect(outcome).toBeLessThan(300);
    },
  );

  it("no statement names the other organisation when the path does", async () => {
    const named: string[] = [];
    const watched = new Proxy(DB, {
      get: (target, name) => {
        if (name !== "prepare") return bound(target, name);
        return (sql: string) => {
          const statement = target.prepare(sql);
          return new Proxy(statement, {
            get: (of, member) =>
              member === "bind"
                ? (...given: readonly unknown[]) => {
                    named.push(JSON.stringify(given));
                    return of.bind(...given);
                  }
                : bound(of, member),
          });
        };
      },
    });
    const cold = new AdminCaller({ DB: watched });
    for (const served of delegatedRoutes) {
      const { method, path, body } = request(served, "beta");
      const token = tokens.get("olga")!;
      expect((await cold.call(method, path, { token, below: "/organizations", body })).status).toBe(404);
    }
    expect(named.filter((given) => given.includes("beta"))).toEqual([]);
  });

  it("people who are no members do not exist", async () => {
    const known = await as("hana", "PUT", "/acme/members/paul", { body: { roles: [] } });
    const unknown = await as("hana", "PUT", "/acme/members/nobody", { body: { roles: [] } });
    expect([known.status, unknown.status]).toEqual([404, 404]);
    expect(known.body.error_description).toBe(unknown.body.error_description);
    expect((await as("hana", "GET", "/acme/members/omar")).status).toBe(404);
  });

  it("the status of the organisation is the deployment's, and it is neither created nor deleted here", async () => {
    const status = await as("olga", "PATCH", "/acme", { body: { status: "disabled" } });
    expect([status.status, status.body.fields[0].path]).toEqual([400, "status"]);
    expect((await as("olga", "DELETE", "/acme")).status).toBe(405);
    expect((await as("otto", "PATCH", "/acme", { body: { name: "Acme Ltd" } })).body.name).toBe("Acme Ltd");
  });
});

function bound(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name);
  return typeof member === "function" ? member.bind(target) : member;
}

describe("O9", () => {
  it("who owns by a group of the directory is an owner: they administer, count as one, and are ended by owners alone", async () => {
    await DB.batch([
      DB.prepare("DELETE FROM membership_roles WHERE sub = 'olga'"),
      DB.prepare(`INSERT INTO scim_users (org_id, scim_id, sub, created_account, user_name_key, active, document, created_at_ms, version)
        VALUES ('acme', 's1', 'olga', 0, 'olga', 1, '{}', 1, 1)`),
      DB.prepare(`INSERT INTO scim_groups (org_id, group_id, display_name, display_key, created_at_ms, version)
        VALUES ('acme', 'g1', 'Owners', 'owners', 1, 1)`),
      DB.prepare("INSERT INTO scim_members (org_id, group_id, scim_id) VALUES ('acme', 'g1', 's1')"),
      DB.prepare("INSERT INTO scim_group_roles (org_id, group_id, role) VALUES ('acme', 'g1', 'owner')"),
      DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('membership', '*', 1)"),
    ]);
    const fresh = new AdminCaller();
    const call = (sub: string, method: string, path: string, body?: object) =>
      fresh.call(method, path, { token: tokens.get(sub)!, below: "/organizations", body });
    expect((await call("olga", "PUT", "/acme/members/bill", { roles: ["billing", "office"] })).status).toBe(200);
    expect((await call("hana", "DELETE", "/acme/members/olga")).status).toBe(403);
    expect((await call("olga", "DELETE", "/acme/members/olga")).status).toBe(409);
    expect((await call("olga", "PUT", "/acme/members/hana", { roles: ["owner"] })).status).toBe(200);
    expect((await call("olga", "DELETE", "/acme/members/olga")).status).toBe(204);
  });

  const put = (sub: string, member: string, body: object) => as(sub, "PUT", `/acme/members/${member}`, { body });

  it("a role is given and taken only with every permission to administer that it has", async () => {
    expect((await put("hana", "bill", { roles: ["billing", "hr"] })).body.roles).toEqual(["billing", "hr"]);
    for (const role of ["owner", "it", "office"]) {
      expect((await put("hana", "bill", { roles: ["billing", role] })).status, role).toBe(403);
      expect((await put("hana", "hana", { roles: ["hr", role] })).status, role).toBe(403);
    }
    expect(await rolesOf("hana")).toEqual(["hr"]);
    // Taking, suspending and removing are alike.
    expect((await put("hana", "ivan", { roles: [] })).status).toBe(403);
    expect((await put("hana", "ivan", { roles: ["it"], status: "suspended" })).status).toBe(403);
    expect((await as("hana", "DELETE", "/acme/members/olga")).status).toBe(403);
    // A role that administers nothing is anybody's to give.
    expect((await put("hana", "olga", { roles: ["owner", "billing"] })).status).toBe(200);
    expect((await put("olga", "hana", { roles: ["hr", "it", "owner"] })).status).toBe(200);
  });

  it("who invites gives no more than they have, sees the invitations of this organisation alone, and learns of no account", async () => {
    const invite = (sub: string, roles: readonly string[], email = "new@example.org") =>
      as(sub, "POST", "/acme/invitations", { body: { email, roles } });
    expect((await invite("hana", ["owner"])).status).toBe(403);
    const made = await invite("hana", ["billing", "hr"]);
    expect([made.status, made.body]).toMatchObject([
      201,
      { org_id: "acme", member_roles: ["billing", "hr"], roles: [] },
    ]);
    expect((await invite("hana", [])).status).toBe(409);
    // An invitation of another organisation, or of the deployment, is no reason to refuse one.
    await as("omar", "POST", "/beta/invitations", { body: { email: "other@example.org" } });
    await admin.call("POST", "/invitations", { body: { email: "third@example.org" } });
    await DB.prepare(
      "INSERT INTO user_addresses (sub, address_key, verified_at_ms) VALUES ('paul', 'paul@example.org', 1)",
    ).run();
    for (const email of ["other@example.org", "third@example.org", "paul@example.org"]) {
      expect((await invite("hana", [], email)).status, email).toBe(201);
    }
    const listed = (await as("hana", "GET", "/acme/invitations")).body.invitations as { email: string }[];
    expect(listed.map(({ email }) => email).toSorted()).toEqual([
      ...["new@example.org", "other@example.org", "paul@example.org", "third@example.org"],
    ]);
    await DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO invitations
         SELECT 'open' || i, 'acme ' || i, i, '{"roles":[],"groups":[],"org_id":"acme","member_roles":[]}', 'hana', 1, 9e14 FROM n`,
    ).run();
    expect((await invite("hana", [], "one-more@example.org")).status).toBe(409);
    await DB.prepare("DELETE FROM invitations WHERE id LIKE 'open%'").run();
    const foreign = (await as("omar", "GET", "/beta/invitations")).body.invitations[0].invitation_id;
    expect((await as("hana", "DELETE", `/acme/invitations/${foreign}`)).status).toBe(404);
    expect((await as("hana", "DELETE", `/acme/invitations/${made.body.invitation_id}`)).status).toBe(204);
  });

  it("a role that gets a permission between the check and the commit is not given", async () => {
    const raced = new AdminCaller({
      DB: beforeBatch(() =>
        admin.call("PUT", "/organization-roles/billing", {
          body: { permissions: ["org:owner"] },
        }),
      ),
    });
    const given = await raced.call("PUT", "/acme/members/hana", {
      ...{ token: tokens.get("hana")!, below: "/organizations" },
      body: { roles: ["hr", "billing"] },
    });
    expect(given.status).toBeGreaterThanOrEqual(400);
    expect(await rolesOf("hana")).toEqual(["hr"]);
  });

  it.each([
    ["is suspended", () => admin.call("PUT", "/organizations/acme/members/hana", { body: { status: "suspended" } })],
    ["loses the role", () => admin.call("PUT", "/organizations/acme/members/hana", { body: { roles: [] } })],
    ["is removed", () => admin.call("DELETE", "/organizations/acme/members/hana")],
    [
      "belongs to a disabled organisation",
      () => admin.call("PATCH", "/organizations/acme", { body: { status: "disabled" } }),
    ],
  ])("a write stands only while its author may make it: %s", async (_, end) => {
    const raced = new AdminCaller({ DB: beforeBatch(end) });
    const removed = await raced.call("DELETE", "/acme/members/bill", {
      token: tokens.get("hana")!,
      below: "/organizations",
    });
    expect(removed.status).toBe(403);
    expect(await rolesOf("bill")).toEqual(["billing"]);
  });

  it.each([
    ["gives", "hana", { roles: ["hr", "owner"] }],
    ["gives themselves", "olga", { roles: ["hr", "owner"] }],
    ["suspends an owner", "otto", { roles: ["owner"], status: "suspended" }],
  ])("an owner who administers members alone by the commit %s nothing more", async (_, member, body) => {
    await put("olga", "otto", { roles: ["owner"] });
    const demote = () => admin.call("PUT", "/organizations/acme/members/olga", { body: { roles: ["hr"] } });
    const raced = new AdminCaller({ DB: beforeBatch(demote) });
    const path = `/acme/members/${member}`;
    const { status } = await raced.call("PUT", path, { token: tokens.get("olga")!, below: "/organizations", body });
    expect(status).toBeGreaterThanOrEqual(400);
    expect([await rolesOf("hana"), await rolesOf("olga")]).toEqual([["hr"], ["hr"]]);
    expect((await admin.call("GET", "/organizations/acme/members/otto")).body.status).toBe("active");
  });

  it("the last active owner stays, and of two who leave at the same moment one does", async () => {
    for (const change of [
      put("olga", "olga", { roles: [] }),
      put("olga", "olga", { roles: ["owner"], status: "suspended" }),
      as("olga", "DELETE", "/acme/members/olga"),
    ]) {
      const { status, body } = await change;
      expect([status, body.error_description]).toEqual([409, expect.stringContaining("last active owner")]);
    }
    await put("olga", "hana", { roles: ["owner"] });
    const left = await Promise.all([
      as("olga", "DELETE", "/acme/members/olga"),
      as("hana", "DELETE", "/acme/members/hana"),
    ]);
    expect(left.map(({ status }) => status).toSorted()).toEqual([204, 409]);
    // The deployment's administrator may do what they must.
    for (const sub of ["olga", "hana"]) await admin.call("DELETE", `/organizations/acme/members/${sub}`);
    expect(await rolesOf("olga")).toBeUndefined();
  });

  it("a member who is removed administers nothing when the call has returned", async () => {
    const leased = new AdminCaller(leasing);
    const read = () => leased.call("GET", "/acme/members", { token: tokens.get("hana")!, below: "/organizations" });
    expect((await read()).status).toBe(200);
    await as("olga", "DELETE", "/acme/members/hana");
    expect((await read()).status).toBe(401);
  });
});

/** A database before whose next transaction something else is done. */
function beforeBatch(first: () => Promise<unknown>): D1Database {
  let isDone = false;
  return new Proxy(DB, {
    get: (target, name) => {
      if (name !== "batch") return bound(target, name);
      return async (statements: D1PreparedStatement[]) => {
        if (!isDone && statements.length > 2) {
          isDone = true;
          await first();
        }
        return target.batch(statements);
      };
    },
  });
}
