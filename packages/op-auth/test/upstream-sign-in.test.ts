/** **Sign-in with an upstream provider, attacked**: who is signed in, who gets an account, and every response that must be refused. */

import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import { beforeEach, describe, expect, it } from "vitest";
import {
  authEnv,
  contextOf,
  countRows,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import {
  type Behaviour,
  connectIdentity,
  pressUpstream,
  StandInUpstream,
  seedUpstream,
  signInUpstream,
  upstreamIssuer,
} from "./fixtures/stand-in-upstream.ts";

const { fixtures, browser } = useDeployment({ skip_consent: true });

/** As the admin API does: in force everywhere when it returns. */
async function changeUpstreams(statement: string): Promise<void> {
  const context = contextOf();
  await commitControlChange(context, [authEnv.DB.prepare(statement)], [{ kind: "upstreams", id: "*" }]);
}

/** The text of the problem on the sign-in page that a response leads to. */
async function problemAfter(response: Response): Promise<string | undefined> {
  const location = locationOf(response);
  expect(stepOf(location)).toBe("sign-in");
  return /id="problem">([^<]*)</.exec(await (await browser.get(location)).text())?.[1];
}

describe("the sign-in page", () => {
  it("has a button for each active provider, and its policy lets the form lead there", async () => {
    await seedUpstream();
    await seedUpstream({ upstreamId: "off", status: "disabled" });
    await seedUpstream({ upstreamId: "own", document: { link_only: true } });
    const response = await browser.get(await browser.pageOf());
    const html = await response.text();
    expect([...html.matchAll(/name="upstream" value="([^"]+)"/g)].map(([, id]) => id)).toEqual(["idp"]);
    expect(html).toContain("Continue with Example IdP");
    expect(response.headers.get("content-security-policy")).not.toContain("form-action");
  });

  it("OIDC Core §3.1.2.1: the button leads to the authorization endpoint, with state, nonce and PKCE", async () => {
    await seedUpstream();
    new StandInUpstream().install();
    const url = new URL(await pressUpstream(browser, await browser.pageOf({ login_hint: "pat@example.com" })));
    expect(url.origin + url.pathname).toBe(`${upstreamIssuer}/authorize`);
    const { state, nonce, code_challenge: challenge, ...others } = Object.fromEntries(url.searchParams);
    expect(others).toEqual({
      client_id: "here",
      redirect_uri: "https://op.example.com/upstream/idp/callback",
      response_type: "code",
      scope: "openid profile email",
      code_challenge_method: "S256",
      login_hint: "pat@example.com",
    });
    expect(challenge).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(nonce).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(state).toMatch(/^ch\./);
  });
});

describe("a known identity", () => {
  beforeEach(async () => {
    await seedUpstream();
    await connectIdentity("alice");
  });

  it("signs in by issuer and subject, whatever its address is", async () => {
    const upstream = new StandInUpstream({ claims: { email: "bob@example.com", email_verified: true } }).install();
    const response = await signInUpstream(browser, await browser.pageOf(), upstream);
    expect(sentToClient(response)["code"]).toBeDefined();
    const session = await authEnv.DB.prepare("SELECT sub FROM user_sessions").first<{ sub: string }>();
    expect(session?.sub).toBe("alice");
    const used = await authEnv.DB.prepare("SELECT last_used_at_ms AS at FROM user_identities").first<{ at: number }>();
    expect(used?.at).toBeGreaterThan(0);
  });

  it("a suspended person is refused", async () => {
    await authEnv.DB.prepare("UPDATE users SET status = 'suspended' WHERE sub = 'alice'").run();
    const response = await signInUpstream(browser, await browser.pageOf(), new StandInUpstream().install());
    expect(await problemAfter(response)).toBe("No account is connected with this sign-in at Example IdP.");
  });
});

/** Responses that are not genuine; each differs in one point from one that signs in. */
const forgeries: Readonly<Record<string, Behaviour>> = {
  "iss of another provider (RFC 9207)": { parameters: { iss: "https://other.example.net" } },
  "no iss, from a provider that sends it": { parameters: { iss: undefined } },
  "an ID token of another issuer": { claims: { iss: "https://other.example.net" } },
  "a signature of another key": { forged: true },
  "alg that the provider does not announce": { metadata: { id_token_signing_alg_values_supported: ["RS256"] } },
  "an ID token for another client": { claims: { aud: "elsewhere" } },
  "an ID token with another nonce": { claims: { nonce: "other" } },
  "an ID token without a nonce": { claims: { nonce: undefined } },
  "an expired ID token": { claims: { exp: 1, iat: 0 } },
  "no sub": { claims: { sub: undefined } },
  "OIDC Core §2: an empty sub": { claims: { sub: "" } },
  "OIDC Core §2: a sub of more than 255 characters": { claims: { sub: "x".repeat(256) } },
  "a sub that is no text": { claims: { sub: 7 } },
  "no token endpoint": { metadata: { token_endpoint: undefined } },
  "a token endpoint that is no URL": { metadata: { token_endpoint: "there" } },
  "a token endpoint of another scheme": { metadata: { token_endpoint: "javascript:alert(1)" } },
  "no keys": { metadata: { jwks_uri: undefined } },
  "keys that are no URL": { metadata: { jwks_uri: "there" } },
  "an ID token of tomorrow": { claims: { iat: Math.floor(Date.now() / 1000) + 86_400 } },
  "metadata of another issuer": { metadata: { issuer: "https://other.example.net" } },
  "keys at an internal address": { metadata: { jwks_uri: "https://169.254.169.254/jwks" } },
  "a token endpoint at an internal address": { metadata: { token_endpoint: "https://10.0.0.1/token" } },
  "a token endpoint that redirects": {
    responses: { "/token": () => new Response(null, { status: 302, headers: { location: "https://10.0.0.1/" } }) },
  },
  "a key set of megabytes": {
    responses: { "/jwks": () => Response.json({ keys: [], padding: "x".repeat(2_000_000) }) },
  },
  "a token response without an ID token": {
    responses: { "/token": () => Response.json({ access_token: "at", token_type: "Bearer" }) },
  },
  "OIDC Core §5.3.2: UserInfo of another sub": {
    metadata: { userinfo_endpoint: `${upstreamIssuer}/userinfo` },
    responses: { "/userinfo": () => Response.json({ sub: "their-2", email: "pat@example.com" }) },
  },
  "UserInfo at an internal address": { metadata: { userinfo_endpoint: "https://10.0.0.1/userinfo" } },
  "an error of the token endpoint": {
    responses: { "/token": () => Response.json({ error: "invalid_grant" }, { status: 400 }) },
  },
};

describe("a response that is not genuine opens no session and creates nobody", () => {
  beforeEach(async () => {
    await seedUpstream();
  });

  it("the response that the table changes signs in", async () => {
    const upstream = new StandInUpstream().install();
    expect(sentToClient(await signInUpstream(browser, await browser.pageOf(), upstream))["code"]).toBeDefined();
  });

  it.each(Object.entries(forgeries))("%s", async (_, behaviour) => {
    const upstream = new StandInUpstream().install();
    // The metadata is read when the person leaves.
    Object.assign(upstream.behaviour, behaviour);
    const users = await countRows("users");
    const response = await browser.submit(await browser.pageOf(), { upstream: "idp" });
    const location = response.headers.get("location");
    const isSentThere = location?.startsWith(upstreamIssuer) === true;
    const end = isSentThere ? await browser.once(upstream.signIn(location)) : undefined;
    if (end !== undefined) expect(await problemAfter(end)).toContain("Example IdP");
    else expect(response.status).toBe(400);
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    expect(await countRows("users")).toBe(users);
    expect(await countRows("user_identities")).toBe(0);
  });

  it.each<[string, Behaviour]>([
    ["the token endpoint", { responses: { "/token": () => new Response(null, { status: 503 }) } }],
    ["the metadata", { responses: { "/.well-known/openid-configuration": () => new Response(null, { status: 503 }) } }],
    ...[undefined, "", "there", "//there", "javascript:alert(1)", "data:text/html,there", "http://there/", 7, {}].map(
      (endpoint): [string, Behaviour] => [
        `authorization_endpoint ${JSON.stringify(endpoint)}`,
        { metadata: { authorization_endpoint: endpoint } },
      ],
    ),
  ])("a provider whose %s is unavailable is named, and the person can sign in another way", async (_, behaviour) => {
    const upstream = new StandInUpstream(behaviour).install();
    const page = await browser.pageOf();
    const response = await browser.submit(page, { upstream: "idp" });
    const location = response.headers.get("location");
    const html =
      location === null
        ? await response.text()
        : await (await browser.get(locationOf(await browser.once(upstream.signIn(location))))).text();
    expect(html).toContain("Example IdP does not respond.");
    expect(html).toContain('name="password"');
  });
});

describe("required_claims", () => {
  const required = { "/requested/tenant": "acme", "/https:~1~1idp.example~1plan": "gold" };
  const fulfilled = { requested: { tenant: "acme" }, "https://idp.example/plan": "gold" };

  it.each<[string, Record<string, unknown>, boolean]>([
    ["all of them", fulfilled, true],
    ["another tenant of the same issuer", { ...fulfilled, requested: { tenant: "other" } }, false],
    ["none", {}, false],
    ["an object where a text is required", { ...fulfilled, requested: { tenant: ["acme"] } }, false],
    ["a text where an object is required", { ...fulfilled, requested: "tenant" }, false],
  ])("an ID token with %s", async (_, claims, isSignedIn) => {
    await seedUpstream({ document: { required_claims: required } });
    const upstream = new StandInUpstream({ claims }).install();
    const response = await signInUpstream(browser, await browser.pageOf(), upstream);
    expect(browser.cookies.has("__Host-op-session")).toBe(isSignedIn);
    expect(await countRows("user_identities")).toBe(isSignedIn ? 1 : 0);
    if (!isSignedIn) expect(await problemAfter(response)).toContain("Example IdP");
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
    ["alone has them", {}, { tenant: "acme" }, true],
    ["contradicts the ID token", { tenant: "other" }, { tenant: "acme" }, false],
    ["has another one", {}, { tenant: "other" }, false],
    ["is of another person", {}, { tenant: "acme", sub: "their-2" }, false],
  ])("UserInfo that %s", async (_, claims, userInfo, isSignedIn) => {
    await seedUpstream({ document: { required_claims: { "/tenant": "acme" } } });
    const upstream = new StandInUpstream({
      claims,
      metadata: { userinfo_endpoint: `${upstreamIssuer}/userinfo` },
      responses: { "/userinfo": () => Response.json({ sub: "their-1", ...userInfo }) },
    }).install();
    await signInUpstream(browser, await browser.pageOf(), upstream);
    expect(browser.cookies.has("__Host-op-session")).toBe(isSignedIn);
  });
});

describe("the transaction", () => {
  let upstream: StandInUpstream;
  beforeEach(async () => {
    await seedUpstream();
    await seedUpstream({ upstreamId: "other" });
    await connectIdentity("alice");
    upstream = new StandInUpstream().install();
  });

  it("the callback in another browser signs nobody in (login CSRF)", async () => {
    const victim = fixtures.browser();
    await victim.pageOf();
    const callback = upstream.signIn(await pressUpstream(browser, await browser.pageOf()));
    const response = await victim.once(callback);
    expect(response.status).toBe(400);
    expect(victim.cookies.has("__Host-op-session")).toBe(false);
  });

  it("is taken once, also by concurrent callbacks", async () => {
    const callback = upstream.signIn(await pressUpstream(browser, await browser.pageOf()));
    const copies = await Promise.all([1, 2, 3].map(() => browser.once(callback)));
    expect(copies.map(({ status }) => status).toSorted()).toEqual([303, 400, 400]);
    expect((await browser.once(callback)).status).toBe(400);
  });

  it("comes back at the redirect URI of its own provider only", async () => {
    const callback = upstream.signIn(await pressUpstream(browser, await browser.pageOf()));
    expect((await browser.once(callback.replace("/idp/", "/other/"))).status).toBe(400);
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("a provider that was disabled in between refuses", async () => {
    const callback = upstream.signIn(await pressUpstream(browser, await browser.pageOf()));
    await changeUpstreams("UPDATE upstreams SET status = 'disabled'");
    expect(await problemAfter(await browser.once(callback))).toBe(
      "That sign-in did not work. Try again, or sign in another way.",
    );
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("a disabled provider is not offered, and its button posted all the same is refused", async () => {
    const page = await browser.pageOf();
    await changeUpstreams("UPDATE upstreams SET status = 'disabled'");
    const response = await browser.submit(page, { upstream: "idp" });
    expect(response.status).toBe(400);
    const html = await response.text();
    expect(html).toContain("That sign-in did not work.");
    expect(html).not.toContain('name="upstream"');
  });

  it("a record that names another issuer finds none of its old identities", async () => {
    await changeUpstreams(
      "UPDATE upstreams SET document = json_set(document, '$.issuer', 'https://new.example.net', '$.sign_up', 'off') WHERE upstream_id = 'idp'",
    );
    const other = new StandInUpstream({}, "https://new.example.net").install();
    const response = await signInUpstream(browser, await browser.pageOf(), other);
    expect(await problemAfter(response)).toContain("No account is connected");
  });
});

describe("who gets an account", () => {
  const users = async () =>
    (
      await authEnv.DB.prepare("SELECT sub, claims FROM users WHERE sub NOT IN ('alice', 'bob', 'mallory')").all<{
        sub: string;
        claims: string;
      }>()
    ).results.map(({ sub, claims }) => ({ sub, ...(JSON.parse(claims) as { readonly updated_at?: number }) }));

  it("a new person has the claims that may be mapped, and no roles, groups or others", async () => {
    await seedUpstream({ document: { claims: { nickname: "alias", name: "full_name" } } });
    const claims = {
      ...{ full_name: "Pat Example", alias: "patty", given_name: "Pat", locale: "de", picture: "javascript:alert(1)" },
      // Nobody would see it: they sign in without it.
      family_name: "\u200b\u3164",
      ...{ email: "pat@example.com", email_verified: true, roles: ["admin"], groups: ["admins"], updated_at: 5 },
    };
    const upstream = new StandInUpstream({ claims }).install();
    expect(sentToClient(await signInUpstream(browser, await browser.pageOf(), upstream))["code"]).toBeDefined();
    const [user, ...others] = await users();
    expect(others).toEqual([]);
    expect(user).toEqual({
      ...{ sub: expect.stringMatching(/^u/), name: "Pat Example", nickname: "patty", given_name: "Pat", locale: "de" },
      ...{ email: "pat@example.com", email_verified: true, updated_at: expect.any(Number) },
    });
    expect(user?.updated_at).not.toBe(5);
    const address = await authEnv.DB.prepare(
      "SELECT sub FROM user_addresses WHERE address_key = 'pat@example.com'",
    ).first();
    expect(address).toEqual({ sub: user?.sub });
    expect(await countRows("user_roles")).toBe(0);
    expect(await countRows("user_groups")).toBe(0);
    const event = await authEnv.DB.prepare(
      "SELECT target, sub FROM admin_events WHERE action = 'account.provisioned'",
    ).first();
    expect(event).toEqual({ target: user?.sub, sub: user?.sub });
  });

  describe("OIDC Core §5.4: UserInfo", () => {
    let upstream: StandInUpstream;
    let userInfo: Record<string, unknown>;

    beforeEach(() => {
      const metadata = { userinfo_endpoint: `${upstreamIssuer}/userinfo` };
      const responses = { "/userinfo": () => Response.json({ sub: "their-1", ...userInfo }) };
      upstream = new StandInUpstream({ metadata, responses }).install();
    });

    it("is read if the ID token has no address", async () => {
      await seedUpstream({ document: { sign_up: "domains", domains: ["example.com"] } });
      userInfo = { name: "Pat Example", email: "pat@example.com", email_verified: true };
      expect(sentToClient(await signInUpstream(browser, await browser.pageOf(), upstream))["code"]).toBeDefined();
      expect(await users()).toMatchObject([userInfo]);
      expect(upstream.requests).toContain(`${upstreamIssuer}/userinfo`);
      upstream.behaviour.claims = { email: "pat@example.com" };
      upstream.requests.length = 0;
      const visitor = fixtures.browser();
      expect(sentToClient(await signInUpstream(visitor, await visitor.pageOf(), upstream))["code"]).toBeDefined();
      expect(upstream.requests).toEqual([`${upstreamIssuer}/token`]);
    });

    it("its address is not believed by a flag of the ID token", async () => {
      await seedUpstream();
      userInfo = { email: "alice@example.com" };
      upstream.behaviour.claims = { email_verified: true };
      expect(sentToClient(await signInUpstream(browser, await browser.pageOf(), upstream))["code"]).toBeDefined();
      expect(await users()).toMatchObject([{ email: "alice@example.com", email_verified: false }]);
    });

    it("its acr, auth_time and iss count for nothing, because they are not signed", async () => {
      await seedUpstream({ document: { acr_map: { gold: "phr" } } });
      await connectIdentity("alice");
      userInfo = { acr: "gold", auth_time: Math.floor(Date.now() / 1000), iss: "https://other.example.net" };
      const page = await browser.pageOf({ prompt: "login" });
      expect(await problemAfter(await signInUpstream(browser, page, upstream))).toContain("did not confirm");
      const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ["phr"] } } });
      const response = await signInUpstream(browser, await browser.pageOf({ claims }), upstream);
      expect(sentToClient(response)["error"]).toBe("unmet_authentication_requirements");
    });
  });

  it("the second sign-in finds the same person, and two at once create one", async () => {
    await seedUpstream();
    const upstream = new StandInUpstream().install();
    const sent = await Promise.all(
      ["code-1", "code-2"].map(async (code) => {
        const visitor = fixtures.browser();
        const location = await pressUpstream(visitor, await visitor.pageOf());
        return sentToClient(await visitor.once(upstream.signIn(location, code)));
      }),
    );
    expect(sent.map(({ code }) => code !== undefined)).toEqual([true, true]);
    await signInUpstream(browser, await browser.pageOf(), upstream);
    expect(await users()).toHaveLength(1);
    expect(await countRows("user_identities")).toBe(1);
  });

  it("the same sub of another provider is another person", async () => {
    await seedUpstream();
    await seedUpstream({ upstreamId: "other", document: { issuer: "https://other.example.net" } });
    await signInUpstream(browser, await browser.pageOf(), new StandInUpstream().install());
    const visitor = fixtures.browser();
    await signInUpstream(
      visitor,
      await visitor.pageOf(),
      new StandInUpstream({}, "https://other.example.net").install(),
      "other",
    );
    expect(await users()).toHaveLength(2);
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>, boolean]>([
    ["off: nobody", { sign_up: "off" }, { email: "pat@example.com", email_verified: true }, false],
    ["link_only: nobody", { link_only: true }, { email: "pat@example.com", email_verified: true }, false],
    [
      "domains: a believed address in one",
      { sign_up: "domains", domains: ["example.com"] },
      { email: "pat@example.com", email_verified: true },
      true,
    ],
    [
      "domains: an address in another",
      { sign_up: "domains", domains: ["example.com"], trusted_domains: ["*"] },
      { email: "pat@corp.com.evil.net", email_verified: true },
      false,
    ],
    [
      "domains: an address that is not verified",
      { sign_up: "domains", domains: ["example.com"] },
      { email: "pat@example.com" },
      false,
    ],
    [
      "domains: email_verified is a text",
      { sign_up: "domains", domains: ["example.com"] },
      { email: "pat@example.com", email_verified: "true" },
      false,
    ],
    [
      "domains: a domain for which the provider is not believed",
      { sign_up: "domains", domains: ["example.org"] },
      { email: "pat@example.org", email_verified: true },
      false,
    ],
  ])("%s", async (_, document, claims, isAllowed) => {
    await seedUpstream({ document: { ...document, link_only: document["link_only"] ?? false } });
    await connectIdentity("bob", { subject: "someone-else" });
    const upstream = new StandInUpstream({ claims }).install();
    // A provider that is not offered is posted all the same.
    const response = await signInUpstream(browser, await browser.pageOf(), upstream);
    if (isAllowed) expect(sentToClient(response)["code"]).toBeDefined();
    else expect(await problemAfter(response)).toContain("No account is connected");
    expect(await users()).toHaveLength(isAllowed ? 1 : 0);
  });

  it.each<[string, Record<string, unknown>]>([
    ["not verified", { email: "alice@example.com", email_verified: false }],
    ["verified by a text", { email: "alice@example.com", email_verified: "true" }],
    ["nothing about it", { email: "alice@example.com" }],
  ])("an address that is not believed leads to no account, and is stored as unverified: %s", async (_, claims) => {
    await seedUpstream();
    const upstream = new StandInUpstream({ claims }).install();
    expect(sentToClient(await signInUpstream(browser, await browser.pageOf(), upstream))["code"]).toBeDefined();
    const [user] = await users();
    expect(user).toMatchObject({ email: "alice@example.com", email_verified: false });
    const identity = await authEnv.DB.prepare("SELECT sub FROM user_identities").first<{ sub: string }>();
    expect(identity?.sub).toBe(user?.sub);
  });

  it("an address of a domain for which the provider is not believed leads to no account (nOAuth)", async () => {
    await seedUpstream({ document: { trusted_domains: ["example.org"] } });
    const upstream = new StandInUpstream({ claims: { email: "alice@example.com", email_verified: true } }).install();
    await signInUpstream(browser, await browser.pageOf(), upstream);
    expect(await users()).toMatchObject([{ email: "alice@example.com", email_verified: false }]);
  });
});

describe("what a sign-in amounts to", () => {
  const tokenOf = async (claims: Record<string, unknown>, document = {}, parameters = {}) => {
    await seedUpstream({ document });
    await connectIdentity("alice");
    const upstream = new StandInUpstream({ claims }).install();
    return signInUpstream(browser, await browser.pageOf(parameters), upstream);
  };
  const essential = (acr: string) => ({
    claims: JSON.stringify({ id_token: { acr: { essential: true, values: [acr] } } }),
  });
  const acrMap = { acr_map: { gold: "mfa", diamond: "phr" } } as const;

  it.each([
    ["a mapped acr satisfies mfa", { acr: "gold" }, "mfa", true],
    ["a mapped acr satisfies phr", { acr: "diamond" }, "phr", true],
    ["a value that is mapped to mfa does not satisfy phr", { acr: "gold" }, "phr", false],
    ["an acr that is spelled like ours is not taken over", { acr: "phr" }, "phr", false],
    ["a member of every object is not mapped", { acr: "constructor" }, "phr", false],
  ])("%s", async (_, claims, acr, isEnough) => {
    const sent = sentToClient(await tokenOf(claims, acrMap, essential(acr)));
    expect(sent["code"] !== undefined).toBe(isEnough);
    if (!isEnough) expect(sent["error"]).toBe("unmet_authentication_requirements");
  });

  it.each([
    [acrMap, "mfa", "gold diamond"],
    [acrMap, "phr", "diamond"],
    [{ acr_map: { gold: "mfa" } } as const, "phr", null],
    [{}, "mfa", null],
  ])(
    "a preference asks once for what %j may reach: %s, and names it to the provider as %s",
    async (document, acr, there) => {
      await seedUpstream({ document });
      await connectIdentity("alice");
      await browser.signIn(await browser.pageOf());
      const preferring = { acr_values: acr };
      const upstream = new StandInUpstream({ claims: { acr: "bronze" } }).install();
      if (there !== null) {
        const page = await browser.pageOf(preferring);
        expect(await (await browser.get(page)).text()).toContain("prefers a sign-in with another provider");
        const location = await pressUpstream(browser, page);
        expect(new URL(location).searchParams.get("acr_values")).toBe(there);
        expect(sentToClient(await browser.once(upstream.signIn(location)))["code"]).toBeDefined();
      }
      // What the provider has said is known from then on.
      expect(sentToClient(await browser.authorize(preferring))["code"]).toBeDefined();
    },
  );

  it("one factor there needs the second factor of the account here", async () => {
    const { AuthenticatorApp } = await import("./fixtures/authenticator-app.ts");
    const app = await AuthenticatorApp.register("alice");
    const page = locationOf(await tokenOf({}));
    expect(stepOf(page)).toBe("prove-more");
    expect(sentToClient(await browser.submit(page, { code: await app.code() }))["code"]).toBeDefined();
  });

  it("OIDC Core §3.1.2.1: prompt=login is forwarded, and needs an auth_time of after the request", async () => {
    await seedUpstream();
    await connectIdentity("alice");
    const now = Math.floor(Date.now() / 1000);
    const upstream = new StandInUpstream({ claims: { auth_time: now - 3600 } }).install();
    const page = await browser.pageOf({ prompt: "login" });
    const location = await pressUpstream(browser, page);
    expect(new URL(location).searchParams.get("prompt")).toBe("login");
    expect(await problemAfter(await browser.once(upstream.signIn(location)))).toContain(
      "did not confirm that you signed in just now",
    );
    upstream.behaviour.claims = {};
    expect(await problemAfter(await signInUpstream(browser, page, upstream))).toContain("did not confirm");
    upstream.behaviour.claims = { auth_time: now };
    expect(sentToClient(await signInUpstream(browser, page, upstream))["code"]).toBeDefined();
  });
});

it("no logout token of a provider is accepted unless its record says so", async () => {
  await seedUpstream();
  await connectIdentity("alice");
  const upstream = new StandInUpstream().install();
  expect(sentToClient(await signInUpstream(browser, await browser.pageOf(), upstream))["code"]).toBeDefined();
  const event = "http://schemas.openid.net/event/backchannel-logout";
  const claims = { events: { [event]: {} }, jti: "logout-1" };
  for (const extra of [{}, { nonce: "n" }]) {
    const logout_token = await upstream.sign({ ...claims, ...extra });
    for (const path of ["/upstream/idp/callback", "/logout", "/upstream/idp/backchannel-logout"]) {
      await fixtures.browser().post(path, { logout_token });
      await browser.post(path, { logout_token });
    }
  }
  expect(sentToClient(await browser.authorize({ prompt: "none" }))["code"]).toBeDefined();
});
