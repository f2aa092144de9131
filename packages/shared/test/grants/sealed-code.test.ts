import { expect, it } from "vitest";
import type { AuthorizationCodePayload } from "../../src/codes/authorization-code-rpc.ts";
import { longestCode } from "../../src/codes/authorization-codes.ts";
import { openCode, sealCode } from "../../src/codes/sealed-code.ts";
import { initialSnapshot, openFamily, sealFamily } from "../../src/refresh/sealed-family.ts";
import { longestSealedFamily } from "../../src/storage/shard-address.ts";

const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const newKey = "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const env = { OP_MASTER_KEY: key };

const address = { generation: 1, region: "wnam", shard: 5 };
const atMs = Date.parse("2030-01-01T00:00:00Z");
/** A sign-in as applications usually request it. */
const payload: AuthorizationCodePayload = {
  grant: { grantId: "Vt3vS4lQ7wX9c0aY2bD8eg1f", address, grantCreatedAtMs: atMs },
  clientId: "d1b0c5d2-3f4a-4b5c-8d6e-7f8091a2b3c4",
  redirectUri: "https://app.example.com/api/auth/callback/edge-op",
  codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  nonce: "n-0S6_WzA2Mjn-0S6_WzA2Mjn-0S6_WzA2Mj",
  scope: ["openid", "profile", "email", "offline_access"],
  resources: ["https://api.example.com"],
  sub: "8f14e45f-ceea-467f-a8c4-1a2b3c4d5e6f",
  pairwiseSub: undefined,
  sid: "ss.g1.wnam.3.Vt3vS4lQ7wX9c0aY2bD8egVt3vS4lQ7wX9c0aY2bD8e",
  ...{ authTimeSeconds: atMs / 1000, acr: "phr", amr: ["hwk", "user", "mfa"], claims: undefined },
  ...{ authorizationDetails: undefined, cnf: undefined, refreshable: true, familyAddress: address },
  ...{ tokenLifetimeSeconds: 3_600, grantEndsAtMs: atMs + 31 * 86_400_000 },
};
const code = { address, id: "AAAAAAAAAAAAAAAAAAAAAA", expiresAtMs: atMs + 60_000, payload };
const bound = { method: "jkt", thumbprint: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } as const;

it("a code contains everything that was authorized, and only this provider reads or writes it", async () => {
  const rich = { ...payload, pairwiseSub: "pairwise", cnf: bound, claims: { userinfo: { email: null } } };
  for (const each of [payload, rich, { ...payload, nonce: undefined, codeChallenge: undefined, sid: undefined }]) {
    const text = await sealCode(env, { ...code, payload: each });
    expect(await openCode(env, text)).toEqual({ ...code, payload: each });
    expect(await openCode({ OP_MASTER_KEY: newKey }, text)).toBeUndefined();
    expect(await openCode({ OP_MASTER_KEY: newKey, OP_MASTER_KEY_PREVIOUS: key }, text)).toEqual({
      ...code,
      payload: each,
    });
    for (const changed of [
      text.replace(".5.", ".6."),
      `${text.slice(0, -2)}AA`,
      text.slice(0, -1),
      `${text}A`,
      "ac.x",
    ]) {
      expect(await openCode(env, changed), changed).toBeUndefined();
    }
  }
});

it("a usual code has at most 800 characters, and shows nothing of its content", async () => {
  const text = await sealCode(env, code);
  expect(text.length).toBeLessThanOrEqual(800);
  expect(text.length).toBeLessThan(longestCode);
  expect(atob(text.split(".").at(-1)!.replaceAll("-", "+").replaceAll("_", "/"))).not.toContain("8f14e45f");
});

it("a usual family fits its first token; one with long authorization details does not", async () => {
  const { grant, sub, clientId, scope, resources } = payload;
  const family = {
    ...payload,
    grant,
    sub,
    clientId,
    scope,
    resources,
    expiresAtMs: atMs + 30 * 86_400_000,
    cnf: bound,
  };
  const { redirectUri: _r, codeChallenge: _c, nonce: _n, refreshable: _f, familyAddress: _a, ...others } = family;
  const { tokenLifetimeSeconds: _t, grantEndsAtMs: _g, ...login } = others;
  const initial = initialSnapshot({ ...login, confirmedBy: "jkt" }, address, atMs + 3_600_000);
  const sealed = (await sealFamily(env, initial.family, atMs + 3_600_000, "sealed"))!;
  expect(sealed.length).toBeLessThanOrEqual(700);
  expect(sealed.length).toBeLessThan(longestSealedFamily);
  const around = { grant, sealed: "sealed", address };
  expect(await openFamily(env, sealed, around)).toEqual(initial);
  const rotated = { OP_MASTER_KEY: newKey, OP_MASTER_KEY_PREVIOUS: key };
  expect(await openFamily(rotated, sealed, around)).toEqual(initial);
  // A family belongs to the sealed grant and user of its own token.
  expect(await openFamily(env, sealed, { ...around, sealed: "of another token" })).toBeUndefined();
  const long = { ...initial.family, authorizationDetails: "x".repeat(600) as never };
  expect(await sealFamily(env, long, atMs, "sealed")).toBeUndefined();
});
