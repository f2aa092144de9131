/**
 * **Codes and refresh tokens of organisations** (ADR 72): what each token that is derived from them says (O1, O2, O4, each with broken variants that
 * are caught), what another release does with them, and that they wait no longer than others. test/conformance/organizations.test.ts has the table of
 * the invariants and hostile cases.
 */

import { AuthorizationCodes } from "@edge-op/shared/codes/authorization-codes";
import { newGrantId } from "@edge-op/shared/grants/grant";
import { RefreshFamilies } from "@edge-op/shared/refresh/refresh-families";
import { openSealed } from "@edge-op/shared/secrets/seal";
import { formatCode, parseCode, parseRefreshToken } from "@edge-op/shared/storage/shard-address";
import type { Membership } from "@edge-op/shared/users/organizations";
import { UserDirectory } from "@edge-op/shared/users/user-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { postForm } from "../../../test/fixtures/call.ts";
import { measureDepths } from "../../../test/fixtures/call-depth.ts";
import { seedOrganizations } from "../../../test/fixtures/seed.ts";
import { around, type Restore } from "../../../test/simulation/replace-method.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { LoginFixtures, redirectUri, seedApp, seedPeople, tokensOf, verifier } from "./fixtures/login-fixtures.ts";
import { accessTokenType, claimsOf, exchangeGrant, seedService, tokenEnv } from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

beforeEach(async () => {
  await seedPeople();
  await seedOrganizations(tokenEnv, ["acme"], ["alice"]);
  await tokenEnv.DB.prepare("INSERT INTO membership_roles VALUES ('alice', 'acme', 'billing')").run();
});

describe("O1, O2, O4: what the tokens of a grant say, however they are derived", () => {
  /** By the organisation of the grant; the membership of `gone` is suspended. */
  const given: Readonly<Record<string, object>> = {
    none: { org_id: undefined, roles: ["editor"], permissions: ["documents.write"], groups: ["staff"] },
    acme: { org_id: "acme", roles: ["billing"], permissions: ["invoices:read"], groups: undefined },
    beta: { org_id: "beta", roles: ["reader"], permissions: ["reports:read"], groups: undefined },
  };
  const scope = ["openid", "offline_access", "roles", "permissions", "groups"];

  beforeEach(async () => {
    const { DB } = tokenEnv;
    await seedOrganizations(tokenEnv, ["beta", "gone"], ["alice"]);
    await DB.batch([
      DB.prepare("UPDATE memberships SET status = 'suspended' WHERE org_id = 'gone'"),
      DB.prepare("INSERT INTO membership_roles VALUES ('alice', 'beta', 'reader')"),
      DB.prepare(
        "INSERT INTO organization_role_permissions VALUES ('billing', 'invoices:read'), ('reader', 'reports:read')",
      ),
    ]);
  });

  /** Tokens that say something else than the grant has, and grants that should have none. */
  async function contradictions(): Promise<string[]> {
    const app = await seedApp({ scope: scope.join(" ") });
    const token_exchange = {
      subject_clients: ["app"],
      scopes: scope,
      modes: ["impersonation"] as const,
      resources: [],
    };
    const service = await seedService("service", {
      token_exchange: { ...token_exchange, audiences: ["https://api.example.com"] },
    });
    const login = new LoginFixtures();
    const found: string[] = [];
    const compare = (of: string, token: string, kind: string) => {
      const claims = claimsOf(token);
      const said = Object.fromEntries(Object.keys(given[of]!).map((name) => [name, claims[name]]));
      if (JSON.stringify(said) !== JSON.stringify(given[of])) found.push(`${kind} of ${of}: ${JSON.stringify(said)}`);
    };
    const audience = "https://api.example.com";
    for (const of of Object.keys(given)) {
      const orgId = of === "none" ? undefined : of;
      const response = await login.redeem(await login.authorize({ orgId, scope }), app);
      if (response.status !== 200) {
        found.push(`the code of ${of} is refused`);
        continue;
      }
      let tokens = await tokensOf(response);
      compare(of, tokens.access_token, "code");
      for (const kind of ["refresh", "second refresh"]) {
        const refreshed = await login.refresh(tokens.refresh_token, app);
        if (refreshed.status !== 200) found.push(`a ${kind} of ${of} is refused`);
        else {
          tokens = await tokensOf(refreshed);
          compare(of, tokens.access_token, kind);
        }
      }
      const exchange = {
        grant_type: exchangeGrant,
        subject_token_type: accessTokenType,
        audience,
        scope: scope.join(" "),
      };
      const exchanged = await login.post({ ...exchange, subject_token: tokens.access_token }, service);
      if (exchanged.status !== 200) found.push(`an exchange of ${of} is refused: ${await exchanged.text()}`);
      else compare(of, (await exchanged.json<{ access_token: string }>()).access_token, "exchange");
    }
    for (const orgId of ["gone", "unknown"]) {
      const { status } = await login.redeem(await login.authorize({ orgId, scope }), app);
      if (status === 200) found.push(`a member of ${orgId} has a token`);
    }
    return found;
  }

  const mutants: Readonly<Record<string, () => Restore>> = {
    "O1: codes that lose their organisation": () =>
      around(AuthorizationCodes, "open", async (_, original, ...args) => {
        const opened = await original(...args);
        return opened && { ...opened, payload: { ...opened.payload, orgId: undefined } };
      }),
    "O1: refresh tokens of another organisation": () =>
      around(RefreshFamilies, "create", (_, original, context, family, ...others) =>
        original(context, { ...family, orgId: family.orgId && "beta" }, ...others),
      ),
    "O2: a membership that is suspended gives": () => ofMembership((found) => found && { ...found, status: "active" }),
    "O2: whoever is no member is one": () =>
      ofMembership(
        (found, orgId) =>
          found ?? { orgId, name: "", status: "active", roles: [], permissions: [], requiresMfa: false, cutOffs: [] },
      ),
    "O4: the membership of another organisation": () =>
      around(UserDirectory, "findMembership", (_, original, context, __, sub) => original(context, "beta", sub)),
    "O4: the roles of the person beside those of the membership": () =>
      ofMembership((found) => found && { ...found, roles: ["editor", ...found.roles] }),
    "O4: the permissions of another membership": () =>
      ofMembership((found) => found && { ...found, permissions: ["reports:read", ...found.permissions] }),
    "O4: the roles of memberships beside those of the person": () =>
      around(UserDirectory, "findRbacClaims", async (_, original, ...args) => {
        const found = await original(...args);
        return { ...found, roles: [...found.roles, "billing"] };
      }),
  };

  it("as the grant has it", async () => {
    expect(await contradictions()).toEqual([]);
  });

  it.each(Object.entries(mutants))("a broken variant is caught: %s", async (_, install) => {
    const restore = install();
    try {
      expect(await contradictions()).not.toEqual([]);
    } finally {
      restore();
    }
  });
});

function ofMembership(change: (found: Membership | undefined, orgId: string) => Membership | undefined): Restore {
  return around(UserDirectory, "findMembership", async (_, original, context, orgId, sub) =>
    change(await original(context, orgId, sub), orgId),
  );
}

/** As a release without organisations opens it. */
async function opensBefore(code: string): Promise<boolean> {
  const { address, sealed } = parseCode(code)!;
  return (await openSealed(tokenEnv, "code-seal", sealed, formatCode(address, ""))) !== undefined;
}

it("ADR 34: a release that knows no organisations opens no code and no refresh token of one, and so refuses both", async () => {
  const app = await seedApp();
  const login = new LoginFixtures();
  expect(await opensBefore(await login.authorize())).toBe(true);
  expect(await opensBefore(await login.authorize({ orgId: "acme" }))).toBe(false);
  const plain = await login.signIn(app);
  const ofAcme = await login.signIn(app, { orgId: "acme" });
  const refreshed = await tokensOf(await login.refresh(ofAcme.refresh_token, app));
  for (const [token, isOpened] of [
    [plain.refresh_token, true],
    [ofAcme.refresh_token, false],
    [refreshed.refresh_token, false],
  ] as const) {
    const { familyId } = parseRefreshToken(token)!;
    expect((await openSealed(tokenEnv, "refresh-seal", familyId)) !== undefined).toBe(isOpened);
  }
});

it("the code of a grant without an organisation has the same members as before", async () => {
  const login = new LoginFixtures();
  const membersOf = async (code: string, bound: string) => {
    const { address, sealed } = parseCode(code)!;
    const text = await openSealed(tokenEnv, "code-seal", sealed, formatCode(address, bound));
    return (JSON.parse(text!) as unknown[]).length;
  };
  expect(await membersOf(await login.authorize(), "")).toBe(24);
  expect(await membersOf(await login.authorize({ orgId: "acme" }), "organization")).toBe(25);
});

it("depth of the token requests of an organisation: that of others", { retry: 2 }, async () => {
  const web = await seedApp({}, "web");
  const login = new LoginFixtures();
  const address = { generation: 1, region: "wnam", shard: 3 };
  const authorize = () => {
    const grant = { grantId: newGrantId({ client: 1, user: 1 }), address, grantCreatedAtMs: Date.now() };
    return login.authorize({ clientId: "web", grant, orgId: "acme" });
  };
  let { refresh_token: token } = await tokensOf(await login.redeem(await authorize(), web));
  const start = () => createApp(createIsolate());
  const depths = await measureDepths(tokenEnv, {
    refresh: {
      createApp: start,
      async send(app, env) {
        const response = await postForm(app, env, "/token", { grant_type: "refresh_token", refresh_token: token }, web);
        token = (await response.clone().json<{ refresh_token: string }>()).refresh_token;
        return response;
      },
    },
    code: {
      createApp: start,
      send: async (app, env) => {
        const bound = { grant_type: "authorization_code", redirect_uri: redirectUri, code_verifier: verifier };
        return postForm(app, env, "/token", { ...bound, code: await authorize() }, web);
      },
    },
  });
  expect(depths).toEqual({
    refresh: { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
    code: { cold: 2, afterPause: 1, busy: 1, emptyKv: 3 },
  });
});
