/**
 * **Global Token Revocation, received from an upstream provider**: whom it reaches and whom it does not (G1 to G4), every bearer token and body that
 * must be refused, and requests between the calls of a sign-in.
 */

import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import { readGrantVersions } from "@edge-op/shared/grants/grant";
import { objectName } from "@edge-op/shared/storage/shard-address";
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
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
import { seedAddress } from "./fixtures/mailed-codes.ts";
import {
  connectIdentity,
  pressUpstream,
  StandInUpstream,
  seedUpstream,
  signInUpstream,
  upstreamIssuer,
} from "./fixtures/stand-in-upstream.ts";

const { fixtures } = useDeployment({ skip_consent: true });
const path = "/upstream/idp/global-token-revocation";
const endpoint = `https://op.example.com${path}`;
const now = () => Math.floor(Date.now() / 1000);
const known = { format: "iss_sub", iss: upstreamIssuer, sub: "their-1" };
const unknown = { ...known, sub: "nobody" };

type Json = Readonly<Record<string, unknown>>;

let upstream: StandInUpstream;

beforeEach(async () => {
  await seedUpstream({ document: { global_token_revocation: true } });
  await connectIdentity("alice");
  upstream = new StandInUpstream().install();
});

async function signIn(own: Browser = fixtures.browser(), id = "idp", sub = "their-1") {
  upstream.behaviour.claims = { sub };
  const response = await signInUpstream(own, await own.pageOf(), upstream, id);
  return { own, code: sentToClient(response)["code"] };
}

const isSignedIn = async (own: Browser) => sentToClient(await own.authorize({ prompt: "none" }))["code"] !== undefined;

function send(token: string, sub_id: unknown = known, own: Browser = fixtures.browser(), to = path): Promise<Response> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return own.once(to, { method: "POST", headers, body: JSON.stringify({ sub_id }) });
}

const revoke = async (sub_id: unknown = known, own?: Browser) =>
  (await send(await upstream.revocationToken(endpoint), sub_id, own)).status;

/** Whether what a code gives is refused at every shard. */
async function isDead(code: string): Promise<boolean> {
  const { grant } = await fixtures.payloadOf(code);
  const shard = authEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", grant.address));
  const { cutOffs } = await shard.check([], ["nb:sub:alice"], -1);
  return cutOffs.some((each) => each.version > readGrantVersions(grant.grantId).user);
}

describe("a bearer token that is not valid is 401, and nothing ends", () => {
  // The numbers are those of the hostile cases in the tests of the design.
  const refused: Readonly<Record<string, readonly [claims: Json, header?: Json]>> = {
    "1: for another endpoint": [{ aud: "https://op.example.com/upstream/idp/backchannel-logout" }],
    "1: for another client of the provider": [{ sub: "elsewhere" }],
    "1: for this endpoint and another one": [{ aud: [endpoint, "https://other.example.net"] }],
    "1: without an audience": [{ aud: undefined }],
    "2: for the endpoint of another provider": [{ aud: endpoint.replace("idp", "twin") }],
    "2: by another issuer": [{ iss: "https://other.example.net" }],
    "2: by the issuer with a slash": [{ iss: `${upstreamIssuer}/` }],
    "4: a logout token": [{}, { typ: "logout+jwt" }],
    "4: an ID token": [{}, { typ: "JWT" }],
    "4: without a type": [{}, { typ: undefined }],
    "5: a critical header": [{}, { crit: ["b64"], b64: true }],
    expired: [{ iat: now() - 300, exp: now() - 60 }],
    "without an end": [{ exp: undefined }],
    "that ends in an hour": [{ exp: now() + 3_600 }],
    "of the future": [{ iat: now() + 120, exp: now() + 300 }],
    "not valid yet": [{ nbf: now() + 120 }],
    "of long ago": [{ iat: now() - 3_600 }],
    "without a time": [{ iat: undefined }],
    "without an id": [{ jti: undefined }],
    "with an empty id": [{ jti: "" }],
    "with an id of 256 characters": [{ jti: "j".repeat(256) }],
  };

  it.each(Object.entries(refused))("%s", async (_, [claims, header]) => {
    const { own } = await signIn();
    const response = await send(await upstream.revocationToken(endpoint, claims, header));
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([401, "invalid_token"]);
    expect(response.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect([await isSignedIn(own), await countRows("upstream_endings")]).toEqual([true, 0]);
    expect(await revoke()).toBe(204);
    expect(await isSignedIn(own)).toBe(false);
  });

  it("5: by another key, without signature, or in no header", async () => {
    const token = await upstream.revocationToken(endpoint);
    const [, body] = token.split(".");
    const { own } = await signIn();
    const forged = await new StandInUpstream({ forged: true }).revocationToken(endpoint);
    const unsigned = `${btoa('{"alg":"none","typ":"global-token-revocation+jwt"}').replaceAll("=", "")}.${body}.`;
    for (const each of [forged, unsigned, "", `${token}, ${token}`]) expect((await send(each)).status).toBe(401);
    const headers = { "content-type": "application/json" };
    expect((await own.once(path, { method: "POST", headers, body: JSON.stringify({ sub_id: known }) })).status).toBe(
      401,
    );
    expect(await isSignedIn(own)).toBe(true);
  });

  it("2, 3: of a provider with the same issuer, at the path of the other one", async () => {
    await seedUpstream({ upstreamId: "twin", document: { global_token_revocation: true, client_id: "there" } });
    const { own } = await signIn();
    const to = path.replace("idp", "twin");
    const aud = endpoint.replace("idp", "twin");
    expect((await send(await upstream.revocationToken(endpoint), known, undefined, to)).status).toBe(401);
    expect((await send(await upstream.revocationToken(aud), known, undefined, to)).status).toBe(401);
    // Identities are those of a record: here this subject is nobody, though the person has another one.
    await connectIdentity("alice", { subject: "their-9", upstreamId: "twin" });
    expect((await send(await upstream.revocationToken(aud, { sub: "there" }), known, undefined, to)).status).toBe(404);
    expect(await isSignedIn(own)).toBe(true);
  });

  it("11, 12: unknown keys are fetched once more, then refused without another fetch", async () => {
    await signIn();
    upstream.requests.length = 0;
    for (let sent = 0; sent < 3; sent += 1) {
      expect((await send(await upstream.revocationToken(endpoint, {}, { kid: `new-${sent}` }))).status).toBe(401);
    }
    expect(upstream.requests.filter((url) => url.endsWith("/jwks"))).toHaveLength(1);
  });

  const change = (statement: string) =>
    commitControlChange(contextOf(), [authEnv.DB.prepare(statement)], [{ kind: "upstreams", id: "*" }]);
  const records = {
    "is disabled": "UPDATE upstreams SET status = 'disabled'",
    "accepts logout tokens alone":
      "UPDATE upstreams SET document = json_set(json_remove(document, '$.global_token_revocation'), '$.backchannel_logout', json('true'))",
  };

  it.each(Object.entries(records))("13: the record %s, also while the request is judged", async (_, statement) => {
    const { own } = await signIn();
    const find = fixtures.isolate.upstreams.find.bind(fixtures.isolate.upstreams);
    vi.spyOn(fixtures.isolate.upstreams, "find").mockImplementationOnce(async (context, id) => {
      const found = await find(context, id);
      await change(statement);
      return found;
    });
    expect([await revoke(), await revoke(), await isSignedIn(own)]).toEqual([401, 401, true]);
  });
});

describe("a body that names nobody in a known format is 400, and nobody is found by anything else", () => {
  it.each([
    ["nothing", undefined],
    ["a text", "their-1"],
    ["another format", { format: "opaque", id: "their-1" }],
    ["no issuer", { format: "iss_sub", sub: "their-1" }],
    ["an empty subject", { ...known, sub: "" }],
    ["an address that is a number", { format: "email", email: 1 }],
  ])("%s", async (_, sub_id) => {
    const { own } = await signIn();
    expect([await revoke(sub_id ?? null), await isSignedIn(own)]).toEqual([400, true]);
  });

  it("a form, and a body of 300 KiB", async () => {
    const authorization = `Bearer ${await upstream.revocationToken(endpoint)}`;
    const of = (type: string, body: string) =>
      fixtures.browser().once(path, { method: "POST", headers: { authorization, "content-type": type }, body });
    expect((await of("application/x-www-form-urlencoded", "sub_id=their-1")).status).toBe(400);
    expect((await of("application/json", `"${"x".repeat(300_000)}"`)).status).toBe(413);
    expect((await fixtures.browser().get(path)).status).toBe(405);
  });
});

describe("G1: whom it reaches", () => {
  it("every session and grant of the person, also by a password, and nobody else's", async () => {
    await connectIdentity("bob", { subject: "their-2" });
    const password = fixtures.browser();
    const mine = [await signIn(), { own: password, code: (await password.signInWhole()).get("code")! }];
    const offline = sentToClient(await password.authorize({ scope: "openid offline_access" }))["code"];
    expect(await countRows("user_grants")).toBe(1);
    const bob = await signIn(undefined, "idp", "their-2");
    expect(await revoke()).toBe(204);
    for (const { own, code } of mine) expect([await isSignedIn(own), await isDead(code!)]).toEqual([false, true]);
    expect([await isDead(offline!), await countRows("user_grants")]).toEqual([true, 0]);
    expect(await isSignedIn(bob.own)).toBe(true);
    expect(await isSignedIn((await signIn()).own)).toBe(true);
  });

  const foreign: Readonly<Record<string, object>> = {
    "a subject that has no identity there": unknown,
    "a subject of another issuer": { ...known, iss: "https://other.example.net" },
    "the person's own name here": { ...known, sub: "alice" },
    "9: an address in a domain that the record does not trust": { format: "email", email: "ceo@other.example" },
    "9: an address of somebody who has an identity elsewhere": { format: "email", email: "bob@example.com" },
    "an address that is not verified": { format: "email", email: "alice.new@example.com" },
    "an address that can be taken back": { format: "email", email: "alice.old@example.com" },
    "an address that is none": { format: "email", email: "alice" },
  };

  it.each(Object.entries(foreign))("404 without more for %s", async (_, sub_id) => {
    await seedAddress("alice", "ceo@other.example");
    await seedUpstream({ upstreamId: "twin" });
    await connectIdentity("bob", { subject: "their-2", upstreamId: "twin" });
    await seedAddress("bob", "bob@example.com");
    await seedAddress("alice", "alice.old@example.com", Date.now() + 3_600_000);
    const { own } = await signIn();
    const bob = fixtures.browser();
    await bob.signIn(await bob.pageOf(), "bob");
    const response = await send(await upstream.revocationToken(endpoint), sub_id);
    expect([response.status, await response.json()]).toEqual([
      404,
      { error: "not_found", error_description: "There is no such resource." },
    ]);
    expect([await isSignedIn(own), await isSignedIn(bob)]).toEqual([true, true]);
  });

  it.each(["alice@example.com", "ALICE@Example.COM", " alice@example.com"])("the address %j", async (email) => {
    const { own } = await signIn();
    expect([await revoke({ format: "email", email }), await isSignedIn(own)]).toEqual([204, false]);
  });

  it("the audit event names the provider", async () => {
    const asked: unknown[] = [];
    const plane = (id: DurableObjectId) => ({
      cutOff: (request: Parameters<ControlPlaneRpc["cutOff"]>[0]) => {
        asked.push(request);
        return authEnv.CONTROL_PLANE.get(id).cutOff(request);
      },
    });
    const namespace = new Proxy(authEnv.CONTROL_PLANE, {
      get: (target, name) => {
        if (name === "get") return plane;
        if (name === "getByName") return (of: string) => plane(target.idFromName(of));
        return target.idFromName.bind(target);
      },
    });
    expect(await revoke(known, fixtures.browser({ ...authEnv, CONTROL_PLANE: namespace }))).toBe(204);
    expect(asked).toEqual([expect.objectContaining({ kind: "sub", id: "alice", actor: "upstream idp" })]);
  });
});

it("G2: it changes nothing else, and makes nobody", async () => {
  const tables = ["user_identities", "user_passwords", "user_addresses", "consents", "memberships"];
  const dump = async () =>
    JSON.stringify(
      (
        await authEnv.DB.batch([
          authEnv.DB.prepare(
            "SELECT sub, username, status, claims, attributes, factor_epoch, updated_at_ms FROM users",
          ),
          ...tables.map((table) => authEnv.DB.prepare(`SELECT * FROM ${table}`)),
        ])
      ).map(({ results }) => results),
    );
  await signIn();
  const before = await dump();
  expect([await revoke(), await revoke(unknown), await dump()]).toEqual([204, 404, before]);
});

describe("G3: a message counts once, for one person", () => {
  it("6: replayed after the person signed in again, it ends nothing", async () => {
    const { own } = await signIn();
    const token = await upstream.revocationToken(endpoint);
    expect([(await send(token)).status, await isSignedIn(own)]).toEqual([204, false]);
    const again = await signIn();
    const offline = { scope: "openid offline_access" };
    expect(sentToClient(await again.own.authorize(offline))["code"]).toBeDefined();
    expect([(await send(token)).status, await isSignedIn(again.own)]).toEqual([204, true]);
    expect(await countRows("user_grants")).toBe(1);
  });

  it("6: a token for one person does not end another one, nor somebody unknown", async () => {
    await connectIdentity("bob", { subject: "their-2" });
    const bob = await signIn(undefined, "idp", "their-2");
    const token = await upstream.revocationToken(endpoint);
    expect((await send(token)).status).toBe(204);
    for (const each of [{ ...known, sub: "their-2" }, unknown, { format: "email", email: "alice@example.com" }]) {
      expect((await send(token, each)).status).toBe(401);
    }
    expect(await isSignedIn(bob.own)).toBe(true);
  });

  it("a store that fails at any call is 503, and the same token then completes it", async () => {
    let tried = 0;
    for (let at = 1; ; at += 1) {
      const { own, code } = await signIn();
      const token = await upstream.revocationToken(endpoint);
      let calls = 0;
      const bindings = interrupted(async () => {
        calls += 1;
        if (calls === at) throw new Error("away");
      });
      const { status } = await send(token, known, fixtures.browser(bindings));
      if (calls < at) break;
      tried = at;
      expect([at, status, (await send(token)).status]).toEqual([at, 503, 204]);
      expect([at, await isSignedIn(own), await isDead(code!)]).toEqual([at, false, true]);
    }
    expect(tried).toBe(2);
  });
});

describe("G4, 14: a sign-in that began before gives no session", () => {
  it.each([known, { format: "email", email: "alice@example.com" }])("while the person is there: %o", async (sub_id) => {
    const own = fixtures.browser();
    const left = await pressUpstream(own, await own.pageOf());
    expect(await revoke(sub_id)).toBe(204);
    expect(stepOf(locationOf(await own.once(upstream.signIn(left))))).toBe("sign-in");
    expect([await isSignedIn(own), await countRows("user_sessions")]).toEqual([false, 0]);
    expect(await isSignedIn((await signIn(own)).own)).toBe(true);
  });

  it("also the first one of a person, who has no identity yet", async () => {
    const own = fixtures.browser();
    const left = await pressUpstream(own, await own.pageOf());
    upstream.behaviour.claims = { sub: "nobody" };
    expect(await revoke(unknown)).toBe(404);
    await own.once(upstream.signIn(left));
    expect([await isSignedIn(own), await countRows("user_sessions")]).toEqual([false, 0]);
  });

  it("while the person is asked for a consent", async () => {
    const own = fixtures.browser();
    const page = locationOf(await signInUpstream(own, await own.pageOf({ prompt: "consent" }), upstream));
    const form_token = formTokenOf(await (await own.get(page)).text());
    expect(await revoke()).toBe(204);
    const response = await own.post(page, { form_token, decision: "allow" });
    expect(response.headers.get("location") ?? "").not.toContain("code=");
    expect(await isSignedIn(own)).toBe(false);
  });

  it("between any calls of the callback", async () => {
    let tried = 0;
    for (let at = 1; ; at += 1) {
      const own = fixtures.browser();
      let calls = 0;
      const left = await pressUpstream(own, await own.pageOf());
      own.env = interrupted(async () => {
        calls += 1;
        if (calls === at) expect(await revoke()).toBe(204);
      });
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
});
