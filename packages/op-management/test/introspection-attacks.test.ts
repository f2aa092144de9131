import { decodeJwt, generateKeyPair, SignJWT } from "jose";
import { beforeEach, expect, it } from "vitest";
import { type SeededClient, seedClient } from "../../../test/fixtures/seed.ts";
import { ManagementFixtures, managementEnv } from "./fixtures/management-fixtures.ts";

/** Tokens that are signed by this provider but mean something else, or imitate a live one. */
const issuer = "https://op.example.com";

let fixtures: ManagementFixtures;
let app: SeededClient;
beforeEach(async () => {
  fixtures = new ManagementFixtures();
  app = await seedClient(managementEnv, "app");
});

/** A live token's claims with changes, signed by this provider's own key. */
async function signed(changes: Record<string, unknown>, typ: string | undefined = "at+jwt"): Promise<string> {
  const claims = { ...decodeJwt(await fixtures.token()), ...changes };
  return fixtures.within((context) => fixtures.isolate.keyRing.sign(context, { alg: "ES256", typ, claims }));
}

it("the unchanged claims are a live token: the changes below cause the refusals", async () => {
  expect(await fixtures.introspect(await signed({}), app)).toMatchObject({ active: true });
});

it.each([
  ["iss with a trailing slash", { iss: `${issuer}/` }],
  ["iss in another case", { iss: issuer.toUpperCase() }],
  ["iss of another tenant", { iss: `${issuer}/tenant` }],
  ["no iss", { iss: undefined }],
  ["iss in a list", { iss: [issuer] }],
  ["no exp", { exp: undefined }],
  ["exp as text", { exp: "9999999999" }],
  ["exp that is null", { exp: null }],
  ["nbf ahead", { nbf: Math.floor(Date.now() / 1000) + 60 }],
  ["nbf as text", { nbf: "0" }],
  ["no jti", { jti: undefined }],
  ["jti of a region that every object has", { jti: "g1:constructor:0:grant.random" }],
  ["jti with a second spelling of its generation", { jti: "g01:wnam:0:grant.random" }],
  ["no client_id", { client_id: undefined }],
  ["client_id in a list", { client_id: ["app"] }],
  ["aud that is a number", { aud: 1 }],
  ["aud with a number", { aud: ["api", 1] }],
])("RFC 9068 §4, RFC 8725 §3.10: a token with %s is inactive", async (_, changes) => {
  expect(await fixtures.introspect(await signed(changes), app)).toEqual({ active: false });
});

/** D1 may have lost the generation (ADR 11), so a token signed by a key of this provider does not count as inactive. */
it.each([
  ["generation", "g7:wnam:0:grant.random"],
  ["shard", "g1:wnam:99:grant.random"],
])("ADR 11: a signed token whose jti names a %s that is not in the table is 503, not inactive", async (_, jti) => {
  const response = await fixtures.post("/introspect", { token: await signed({ jti }) }, app);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: "temporarily_unavailable" });
});

it.each(["g7:wnam:0:grant.random", "g1:wnam:99:grant.random"])(
  "a forged token with the jti %s is inactive",
  async (jti) => {
    const { privateKey } = await generateKeyPair("ES256");
    const [header] = (await fixtures.token()).split(".") as [string];
    const claims = { ...decodeJwt(await fixtures.token()), jti };
    const forged = await new SignJWT(claims).setProtectedHeader(JSON.parse(atob(header))).sign(privateKey);
    expect(await fixtures.introspect(forged, app)).toEqual({ active: false });
  },
);

it.each(["logout+jwt", "token-introspection+jwt", "at+jwt+jwt", "text/at+jwt", undefined])(
  "RFC 8725 §3.11: typ %s is no access token, whatever its claims",
  async (typ) => {
    const claims = { ...decodeJwt(await fixtures.token()) };
    const token = await fixtures.within((context) =>
      fixtures.isolate.keyRing.sign(context, { alg: "ES256", typ, claims }),
    );
    expect(await fixtures.introspect(token, app)).toEqual({ active: false });
  },
);

it("RFC 8725 §3.12: with typ JWT, the claims of an ID token make it none", async () => {
  expect(await fixtures.introspect(await signed({}, "JWT"), app)).toMatchObject({ active: true });
  expect(await fixtures.introspect(await signed({ azp: "app" }, "JWT"), app)).toEqual({ active: false });
  expect(await fixtures.introspect(await signed({ client_id: undefined }, "JWT"), app)).toEqual({ active: false });
});

it.each(["false", "true"])(
  "a forged token with a live one's jti is inactive however warm that is (response cache %s), and the live one stays active",
  async (INTROSPECTION_CACHE) => {
    const bindings = { ...managementEnv, INTROSPECTION_CACHE };
    const live = await fixtures.token();
    for (let use = 0; use < 3; use += 1) {
      expect(await fixtures.introspect(live, app, bindings)).toMatchObject({ active: true });
    }
    const [header, payload, signature] = live.split(".") as [string, string, string];
    const { privateKey } = await generateKeyPair("ES256");
    const forged = await new SignJWT(decodeJwt(live)).setProtectedHeader(JSON.parse(atob(header))).sign(privateKey);
    const admin = btoa(JSON.stringify({ ...decodeJwt(live), scope: "admin:clients" })).replace(/=+$/, "");
    for (const token of [forged, `${header}.${admin.replaceAll("+", "-").replaceAll("/", "_")}.${signature}`]) {
      expect(await fixtures.introspect(token, app, bindings)).toEqual({ active: false });
    }
    expect(await fixtures.introspect(`${header}.${payload}.${signature}`, app, bindings)).toMatchObject({
      scope: "read",
    });
  },
);

it("RFC 7662 §4: the response cache is not shared between callers", async () => {
  const bindings = { ...managementEnv, INTROSPECTION_CACHE: "true" };
  const stranger = await seedClient(managementEnv, "stranger");
  const live = await fixtures.token();
  for (let use = 0; use < 2; use += 1) {
    expect(await fixtures.introspect(live, app, bindings)).toMatchObject({ active: true });
    expect(await fixtures.introspect(live, stranger, bindings)).toEqual({ active: false });
  }
});
