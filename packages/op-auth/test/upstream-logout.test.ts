/**
 * **OpenID Connect Back-Channel Logout 1.0, received from an upstream provider**: every logout token that must be refused, whose sessions one ends,
 * and messages and sign-ins between each other's calls.
 */

import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import { objectName } from "@edge-op/shared/storage/shard-address";
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  AuthFixtures,
  authEnv,
  type Browser,
  contextOf,
  countRows,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { interrupted } from "./fixtures/interrupted-calls.ts";
import {
  connectIdentity,
  logoutEvent,
  pressUpstream,
  StandInUpstream,
  seedUpstream,
  signInUpstream,
  upstreamIssuer,
} from "./fixtures/stand-in-upstream.ts";

const { fixtures } = useDeployment({ skip_consent: true });
const path = "/upstream/idp/backchannel-logout";
const now = () => Math.floor(Date.now() / 1000);

let upstream: StandInUpstream;

beforeEach(async () => {
  await seedUpstream({ document: { backchannel_logout: true } });
  await connectIdentity("alice");
  upstream = new StandInUpstream().install();
});

/** Signs in there, in a session of that provider. */
async function signIn(claims: Record<string, unknown> = { sid: "s1" }, own: Browser = fixtures.browser(), id = "idp") {
  upstream.behaviour.claims = claims;
  const response = await signInUpstream(own, await own.pageOf(), upstream, id);
  return { own, code: sentToClient(response)["code"] };
}

const isSignedIn = async (own: Browser) => sentToClient(await own.authorize({ prompt: "none" }))["code"] !== undefined;

const send = (logout_token: string, own: Browser = fixtures.browser()) => own.post(path, { logout_token });

const logOut = async (claims: Record<string, unknown> = {}, own?: Browser) =>
  (await send(await upstream.logoutToken(claims), own)).status;

async function isDead(code: string): Promise<boolean> {
  const { grant } = await fixtures.payloadOf(code);
  const shard = authEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", grant.address));
  return (await shard.check([grantKey(grant.grantId)], [], -1)).revoked.length === 1;
}

/** Logout tokens that differ in one point from one that ends a session, and the claim that is named in the log. */
const refused: Readonly<Record<string, readonly [claims: object, header?: object]>> = {
  "§2.6 item 2: a signature of another key": [{}],
  "§2.6 item 3: no signature": [{}],
  "§2.4: the type of another token": [{}, { typ: "at+jwt" }],
  "§2.4: the type of an ID-JAG": [{}, { typ: "oauth-id-jag+jwt" }],
  "a critical header": [{}, { crit: ["b64"], b64: true }],
  "§2.6 item 4: another issuer": [{ iss: "https://other.example.net" }],
  "§2.6 item 4: no issuer": [{ iss: undefined }],
  "§2.6 item 4: the issuer with a slash": [{ iss: `${upstreamIssuer}/` }],
  "§2.6 item 4: another client of the provider": [{ aud: "elsewhere" }],
  "§2.6 item 4: another client beside this one": [{ aud: ["here", "elsewhere"] }],
  "§2.6 item 4: no audience": [{ aud: [] }],
  "§2.6 item 4: no iat": [{ iat: undefined }],
  "§2.6 item 4: an iat that is a text": [{ iat: "now" }],
  "§2.6 item 4: an iat of the future": [{ iat: now() + 3_600, exp: now() + 7_200 }],
  "§2.6 item 4: an iat of long ago": [{ iat: now() - 3_600, exp: now() + 60 }],
  "§2.6 item 4: no exp": [{ exp: undefined }],
  "§2.6 item 4: expired": [{ iat: now() - 120, exp: now() - 60 }],
  "§2.4: no jti": [{ jti: undefined }],
  "§2.4: an empty jti": [{ jti: "" }],
  "§2.4: a jti that is a number": [{ jti: 1 }],
  "§2.4: a jti of 256 characters": [{ jti: "j".repeat(256) }],
  "§2.6 item 5: neither sub nor sid": [{ sub: undefined, sid: undefined }],
  "§2.6 item 5: a sub that is a number": [{ sub: 1 }],
  "§2.6 item 5: an empty sid": [{ sid: "" }],
  "§2.6 item 6: no events": [{ events: undefined }],
  "§2.6 item 6: another event": [
    { events: { "https://schemas.openid.net/secevent/risc/event-type/account-disabled": {} } },
  ],
  "§2.6 item 6: an event that is no object": [{ events: { [logoutEvent]: "" } }],
  "§2.6 item 6: events as a list": [{ events: [logoutEvent] }],
  "§2.6 item 7: a nonce": [{ nonce: "n" }],
  "§2.6 item 7: a nonce that is null": [{ nonce: null }],
};

describe("§2.6: a logout token that is not valid is 400 and ends nothing", () => {
  it.each(Object.entries(refused))("%s", async (name, [claims, header]) => {
    const { own } = await signIn();
    const token = await upstream.logoutToken({ sid: "s1", ...claims }, { ...header });
    const [head, body, signature] = token.split(".");
    const other = new StandInUpstream({ forged: true });
    const sent = name.includes("another key")
      ? await other.logoutToken({ sid: "s1" })
      : name.includes("no signature")
        ? `${btoa('{"alg":"none","typ":"logout+jwt"}').replaceAll("=", "")}.${body}.`
        : `${head}.${body}.${signature}`;
    const response = await send(sent);
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([400, "invalid_request"]);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await isSignedIn(own)).toBe(true);
    expect(await countRows("upstream_endings")).toBe(0);
    // The control: the same token as it should be.
    expect(await logOut({ sid: "s1" })).toBe(200);
    expect(await isSignedIn(own)).toBe(false);
  });

  it.each(["ES256", "HS256"])("a key in the header is not used, whatever alg says: %s", async (alg) => {
    const { own } = await signIn();
    const [, body = ""] = (await upstream.logoutToken({ sid: "s1" })).split(".");
    const pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
    ])) as CryptoKeyPair;
    const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
    const encode = (bytes: Uint8Array) =>
      btoa(String.fromCharCode(...bytes))
        .replaceAll("+", "-")
        .replaceAll("/", "_")
        .replaceAll("=", "");
    const text = (value: unknown) => encode(new TextEncoder().encode(JSON.stringify(value)));
    const head = text({ alg, typ: "logout+jwt", jwk, jku: "https://evil.example/jwks", x5u: "https://evil.example/x" });
    const data = new TextEncoder().encode(`${head}.${body}`);
    const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, data);
    upstream.requests.length = 0;
    expect((await send(`${head}.${body}.${encode(new Uint8Array(signature))}`)).status).toBe(400);
    expect(upstream.requests.filter((url) => url.includes("evil"))).toEqual([]);
    expect(await isSignedIn(own)).toBe(true);
  });

  it("an ID token is no logout token, and a logout token no ID token", async () => {
    const { own } = await signIn();
    expect((await send(await upstream.sign({ sid: "s1", nonce: "n" }))).status).toBe(400);
    expect((await send(await upstream.sign({ sid: "s1" }))).status).toBe(400);
    expect(await isSignedIn(own)).toBe(true);
    upstream.behaviour.responses = {
      "/token": () => Response.json({ access_token: "at", token_type: "Bearer", id_token: taken }),
    };
    const taken = await upstream.logoutToken({ sid: "s2" });
    const other = fixtures.browser();
    expect(stepOf(locationOf(await signInUpstream(other, await other.pageOf(), upstream)))).toBe("sign-in");
  });

  it("§2.4: a token without a type is accepted, as one of the type JWT", async () => {
    for (const [sid, typ] of [
      ["s1", undefined],
      ["s2", "JWT"],
      ["s3", "application/logout+jwt"],
    ] as const) {
      const { own } = await signIn({ sid });
      expect((await send(await upstream.logoutToken({ sid }, { typ }))).status).toBe(200);
      expect(await isSignedIn(own)).toBe(false);
    }
  });

  it("no token, two tokens, or one of 17 KiB", async () => {
    const token = await upstream.logoutToken({ sid: "s1" });
    for (const fields of [{}, { logout_token: [token, token] }, { logout_token: "x".repeat(17_000) }]) {
      expect((await fixtures.browser().post(path, fields)).status).toBeGreaterThanOrEqual(400);
    }
    expect((await fixtures.browser().get(path)).status).toBe(405);
  });
});

describe("whom it concerns", () => {
  it("§2.7: with a sid that session alone, with its grants", async () => {
    const first = await signIn({ sid: "s1" });
    const second = await signIn({ sid: "s2" });
    expect(await logOut({ sid: "s1" })).toBe(200);
    expect([await isSignedIn(first.own), await isSignedIn(second.own)]).toEqual([false, true]);
    expect([await isDead(first.code!), await isDead(second.code!)]).toEqual([true, false]);
    expect([await countRows("user_sessions"), await countRows("upstream_sessions")]).toEqual([1, 1]);
  });

  it("a sid alone is enough", async () => {
    const { own } = await signIn();
    expect(await logOut({ sid: "s1", sub: undefined })).toBe(200);
    expect(await isSignedIn(own)).toBe(false);
  });

  it("§2.4: without a sid every session of the person that rests on the provider", async () => {
    const all = [await signIn({ sid: "s1" }), await signIn({ sid: "s2" }), await signIn({})];
    expect(await logOut()).toBe(200);
    for (const { own } of all) expect(await isSignedIn(own)).toBe(false);
  });

  it("with both, also a session for which the provider gave no sid", async () => {
    const without = await signIn({});
    const other = await signIn({ sid: "s2" });
    expect(await logOut({ sid: "s1" })).toBe(200);
    expect([await isSignedIn(without.own), await isSignedIn(other.own)]).toEqual([false, true]);
  });

  it("G1: no session by a password, of another person, or of another provider with the same issuer", async () => {
    await seedUpstream({ upstreamId: "twin", document: { backchannel_logout: true } });
    await connectIdentity("alice", { subject: "their-1", upstreamId: "twin" });
    await connectIdentity("bob", { subject: "their-2" });
    const others = [
      (await signIn({ sid: "s1" }, undefined, "twin")).own,
      (await signIn({ sid: "s2", sub: "their-2" })).own,
      fixtures.browser(),
    ];
    await others[2]!.signInWhole();
    for (const claims of [{ sid: "s1" }, {}]) expect(await logOut(claims)).toBe(200);
    for (const own of others) expect(await isSignedIn(own)).toBe(true);
  });

  it("a session that came to rest on the provider later, or that rests on it no more as its newest proof", async () => {
    const own = fixtures.browser();
    await own.signInWhole();
    const page = await own.pageOf({ prompt: "login", max_age: "0" });
    upstream.behaviour.claims = { sid: "s1", auth_time: now() + 1 };
    expect(sentToClient(await signInUpstream(own, page, upstream))["code"]).toBeDefined();
    expect(await countRows("user_sessions")).toBe(1);
    await own.submit(await own.pageOf({ prompt: "login" }), {
      username: "alice",
      password: "correct horse battery staple",
    });
    expect(await logOut({ sid: "s1" })).toBe(200);
    expect(await isSignedIn(own)).toBe(false);
  });

  it("§2.8: nobody, and a session that has ended, is a success", async () => {
    expect(await logOut({ sid: "unknown", sub: "nobody" })).toBe(200);
    const { own } = await signIn();
    expect(await logOut({ sid: "s1" })).toBe(200);
    expect(await logOut({ sid: "s1" })).toBe(200);
    expect(await isSignedIn(own)).toBe(false);
  });

  it("a sid and a sub that contradict each other are refused, and nothing ends", async () => {
    await connectIdentity("bob", { subject: "their-2" });
    const bob = await signIn({ sid: "s2", sub: "their-2" });
    const alice = await signIn({});
    expect(await logOut({ sid: "s2" })).toBe(400);
    expect([await isSignedIn(bob.own), await isSignedIn(alice.own)]).toEqual([true, true]);
    expect(await countRows("upstream_endings")).toBe(0);
  });

  it("G2: it changes nothing but sessions", async () => {
    const tables = ["users", "user_identities", "user_passwords", "user_addresses", "consents", "user_grants"];
    const dump = async () =>
      JSON.stringify(
        await authEnv.DB.batch(tables.map((table) => authEnv.DB.prepare(`SELECT * FROM ${table}`))).then((all) =>
          all.map(({ results }) => results),
        ),
      );
    await signIn();
    const before = await dump();
    expect(await logOut({ sid: "s1" })).toBe(200);
    expect(await dump()).toBe(before);
  });

  it("the audit log names the provider", async () => {
    const ended = vi.spyOn(fixtures.isolate.sessions, "endBySid");
    await signIn();
    await logOut({ sid: "s1" });
    expect(ended.mock.calls.map(([, , reason]) => reason)).toEqual(["signed out at the upstream provider idp"]);
  });
});

describe("a record that accepts none", () => {
  const change = (statement: string) =>
    commitControlChange(contextOf(), [authEnv.DB.prepare(statement)], [{ kind: "upstreams", id: "*" }]);

  it("400 for a provider that is unknown, disabled, or may not end sessions; and nothing was stored for it", async () => {
    const { own } = await signIn();
    const token = await upstream.logoutToken({ sid: "s1" });
    expect((await fixtures.browser().post("/upstream/other/backchannel-logout", { logout_token: token })).status).toBe(
      400,
    );
    await change("UPDATE upstreams SET status = 'disabled'");
    expect((await send(token)).status).toBe(400);
    await change("UPDATE upstreams SET status = 'active', document = json_remove(document, '$.backchannel_logout')");
    expect((await send(token)).status).toBe(400);
    expect(await isSignedIn(own)).toBe(true);
    await authEnv.DB.prepare("DELETE FROM upstream_sessions").run();
    await signIn({ sid: "s2" });
    expect([await countRows("upstream_sessions"), await countRows("upstream_endings")]).toEqual([0, 0]);
  });

  it("a provider that is disabled while its message is judged ends nothing", async () => {
    const { own } = await signIn();
    const find = fixtures.isolate.upstreams.find.bind(fixtures.isolate.upstreams);
    vi.spyOn(fixtures.isolate.upstreams, "find").mockImplementationOnce(async (context, id) => {
      const found = await find(context, id);
      await change("UPDATE upstreams SET status = 'disabled'");
      return found;
    });
    expect(await logOut({ sid: "s1" })).toBe(400);
    expect(await isSignedIn(own)).toBe(true);
  });
});

describe("a message counts once, and in its order", () => {
  it("replayed after the person signed in again, it ends nothing", async () => {
    const { own } = await signIn();
    const token = await upstream.logoutToken();
    expect((await send(token)).status).toBe(200);
    expect(await isSignedIn(own)).toBe(false);
    const again = await signIn({ sid: "s2" });
    expect((await send(token)).status).toBe(200);
    expect(await isSignedIn(again.own)).toBe(true);
  });

  it("a late one ends nothing that the provider has stated since", async () => {
    const late = await upstream.logoutToken({ iat: now() - 120, exp: now() + 60 });
    const before = await signIn({ sid: "s1", iat: now() - 130, exp: now() + 60 });
    const after = await signIn({ sid: "s2" });
    expect((await send(late)).status).toBe(200);
    expect([await isSignedIn(before.own), await isSignedIn(after.own)]).toEqual([false, true]);
  });

  it("the person signs in again at once, also when the provider keeps its session", async () => {
    await signIn({ sid: "s1" });
    expect(await logOut({ sid: "s1" })).toBe(200);
    expect(await isSignedIn((await signIn({ sid: "s1" })).own)).toBe(true);
    expect(await logOut({})).toBe(200);
    expect(await isSignedIn((await signIn({})).own)).toBe(true);
  });
});

describe("G4: a sign-in that began before gives no session", () => {
  const messages = { "with its sid": { sid: "s1" }, "of the person": {} };

  it.each(Object.entries(messages))("a message %s while the person is at the provider", async (_, claims) => {
    const own = fixtures.browser();
    const left = await pressUpstream(own, await own.pageOf());
    upstream.behaviour.claims = { sid: "s1" };
    expect(await logOut(claims)).toBe(200);
    const location = locationOf(await own.once(upstream.signIn(left)));
    expect(stepOf(location)).toBe("sign-in");
    expect(await (await own.get(location)).text()).toContain('id="problem"');
    expect([await isSignedIn(own), await countRows("user_sessions")]).toEqual([false, 0]);
    expect(await isSignedIn((await signIn({ sid: "s1" }, own)).own)).toBe(true);
  });

  it.each(Object.entries(messages))("a message %s while the person is asked for a consent", async (_, claims) => {
    const own = fixtures.browser();
    upstream.behaviour.claims = { sid: "s1" };
    const page = locationOf(await signInUpstream(own, await own.pageOf({ prompt: "consent" }), upstream));
    expect(stepOf(page)).toBe("consent");
    const form_token = formTokenOf(await (await own.get(page)).text());
    expect(await logOut(claims)).toBe(200);
    const response = await own.post(page, { form_token, decision: "allow" });
    expect(response.headers.get("location") ?? "").not.toContain("code=");
    expect(await isSignedIn(own)).toBe(false);
  });

  it.each(Object.entries(messages))("a message %s between any calls of the callback", async (_, claims) => {
    let tried = 0;
    for (let at = 1; ; at += 1) {
      const own = fixtures.browser();
      let calls = 0;
      const left = await pressUpstream(own, await own.pageOf());
      upstream.behaviour.claims = { sid: "s1" };
      const bindings = interrupted(async () => {
        calls += 1;
        if (calls === at) expect(await logOut(claims)).toBe(200);
      });
      own.env = bindings;
      const response = await own.once(upstream.signIn(left, `code-${at}`));
      own.env = authEnv;
      if (calls < at) break;
      tried = at;
      const code = locationOf(response).includes("code=") ? sentToClient(response)["code"] : undefined;
      if (code !== undefined) expect(await isDead(code)).toBe(true);
      expect([at, await isSignedIn(own), await countRows("user_sessions")]).toEqual([at, false, 0]);
    }
    expect(tried).toBeGreaterThanOrEqual(3);
  });

  it("a callback between any calls of a message", async () => {
    let tried = 0;
    for (let at = 1; ; at += 1) {
      const known = await signIn({ sid: "s1" });
      const own = fixtures.browser();
      let calls = 0;
      const left = await pressUpstream(own, await own.pageOf());
      const bindings = interrupted(async () => {
        calls += 1;
        if (calls === at) await own.once(upstream.signIn(left, `code-${at}`));
      });
      expect(await logOut({ sid: "s1" }, fixtures.browser(bindings))).toBe(200);
      if (calls < at) break;
      tried = at;
      expect([at, await isSignedIn(own), await isSignedIn(known.own)]).toEqual([at, false, false]);
    }
    expect(tried).toBeGreaterThanOrEqual(3);
  });
});

describe("what cannot be reached", () => {
  it("a store that fails at any call is 503, and the same token then completes it", async () => {
    let tried = 0;
    for (let at = 1; ; at += 1) {
      const { own, code } = await signIn({ sid: "s1" });
      const token = await upstream.logoutToken({ sid: "s1" });
      let calls = 0;
      const bindings = interrupted(async () => {
        calls += 1;
        if (calls === at) throw new Error("away");
      });
      const { status, headers } = await send(token, fixtures.browser(bindings));
      if (calls < at) break;
      tried = at;
      expect([at, status, headers.get("retry-after")]).toEqual([at, 503, "1"]);
      expect((await send(token)).status).toBe(200);
      expect([at, await isSignedIn(own), await isDead(code!)]).toEqual([at, false, true]);
    }
    expect(tried).toBeGreaterThanOrEqual(3);
  });

  it("keys that cannot be fetched are 503; unknown keys are fetched once more, then refused without another fetch", async () => {
    const { own } = await signIn();
    upstream.requests.length = 0;
    for (let sent = 0; sent < 3; sent += 1) {
      expect((await send(await upstream.logoutToken({ sid: "s1" }, { kid: `new-${sent}` }))).status).toBe(400);
    }
    expect(upstream.requests.filter((url) => url.endsWith("/jwks"))).toHaveLength(1);
    expect(await isSignedIn(own)).toBe(true);
    const away = new StandInUpstream({ responses: { "/jwks": () => new Response(null, { status: 500 }) } }).install();
    const cold = new AuthFixtures(fixtures.client).browser();
    expect((await send(await away.logoutToken({ sid: "s1" }), cold)).status).toBe(503);
  });
});
