import { createExecutionContext } from "cloudflare:test";
import { encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { keyManagerName } from "@edge-op/shared/keys/key-schedule";
import { unwrapPrivateKey } from "@edge-op/shared/keys/wrapped-private-key";
import { CompactSign, exportJWK, generateKeyPair } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  bindings,
  claims,
  isolate,
  keyOf,
  newestVersion,
  request,
  sign,
  start,
  typ,
  verify,
} from "../fixtures/key-ring-fixtures.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(start);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("forged and mangled tokens", () => {
  const encode = (value: unknown) =>
    encodeBase64Url(encodeUtf8(typeof value === "string" ? value : JSON.stringify(value)));

  /** Signed with the real private key, under a header of the attacker's choice. */
  async function signAs(header: Record<string, unknown>, payload: unknown = claims): Promise<string> {
    const key = await keyOf("ES256");
    const privateKey = await unwrapPrivateKey(bindings, key.kid, key.alg, key.wrappedPrivateKey);
    const input = `${encode({ kid: key.kid, ...header })}.${encode(payload)}`;
    const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, encodeUtf8(input));
    return `${input}.${encodeBase64Url(signature)}`;
  }

  it("the control: a token made this way verifies", async () => {
    const { ring } = await isolate();
    expect((await request(verify(ring, await signAs({ alg: "ES256", typ: "at+jwt" })))).result).toBeDefined();
  });

  it.each([
    ["alg none", { alg: "none", typ: "at+jwt" }],
    ["alg None", { alg: "None", typ: "at+jwt" }],
    ["alg nOnE", { alg: "nOnE", typ: "at+jwt" }],
    ["alg es256", { alg: "es256", typ: "at+jwt" }],
    ["alg HS256", { alg: "HS256", typ: "at+jwt" }],
    ["alg RS256 on an EC key", { alg: "RS256", typ: "at+jwt" }],
    ["alg ES384", { alg: "ES384", typ: "at+jwt" }],
    ["alg an array", { alg: ["ES256"], typ: "at+jwt" }],
    ["alg missing", { typ: "at+jwt" }],
    ["typ missing", { alg: "ES256" }],
    ["typ of an ID token", { alg: "ES256", typ: "JWT" }],
    ["typ a number", { alg: "ES256", typ: 1 }],
    ["kid missing", { alg: "ES256", typ: "at+jwt", kid: undefined }],
    ["kid a number", { alg: "ES256", typ: "at+jwt", kid: 1 }],
    ["kid unknown", { alg: "ES256", typ: "at+jwt", kid: "nobody" }],
    ["kid of the prototype", { alg: "ES256", typ: "at+jwt", kid: "__proto__" }],
    ["crit not understood", { alg: "ES256", typ: "at+jwt", crit: ["exp"], exp: 1 }],
    ["crit b64", { alg: "ES256", typ: "at+jwt", crit: ["b64"], b64: true }],
    ["crit empty", { alg: "ES256", typ: "at+jwt", crit: [] }],
    ["crit null", { alg: "ES256", typ: "at+jwt", crit: null }],
  ])("RFC 8725 §3.1: %s is refused although the signature is valid", async (_, header) => {
    const { ring } = await isolate();
    expect((await request(verify(ring, await signAs(header)))).result).toBeUndefined();
  });

  it.each([
    ["an array", []],
    ["a string", "text"],
    ["null", null],
    ["not JSON", "{"],
  ])("RFC 7519 §7.2: claims that are %s are refused although the signature is valid", async (_, payload) => {
    const { ring } = await isolate();
    expect(
      (await request(verify(ring, await signAs({ alg: "ES256", typ: "at+jwt" }, payload)))).result,
    ).toBeUndefined();
  });

  it("RFC 8725 §2.1: HS256 keyed with our public key is refused", async () => {
    const { ring } = await isolate();
    const key = await keyOf("RS256");
    const secret = encodeUtf8(JSON.stringify(key.publicJwk));
    const forged = await new CompactSign(encodeUtf8(JSON.stringify(claims)))
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: key.kid })
      .sign(secret);
    expect((await request(verify(ring, forged))).result).toBeUndefined();
  });

  it.each([
    ["ES256", "RS256"],
    ["RS256", "ES256"],
    ["EdDSA", "ES256"],
  ] as const)(
    "K4: a token signed by a foreign %s key under the kid of our %s key is refused",
    async (alg, scheduled) => {
      const { ring } = await isolate();
      const foreign = await generateKeyPair(alg);
      const forged = await new CompactSign(encodeUtf8(JSON.stringify(claims)))
        .setProtectedHeader({ alg, typ: "at+jwt", kid: (await keyOf(scheduled)).kid })
        .sign(foreign.privateKey);
      expect((await request(verify(ring, forged))).result).toBeUndefined();
    },
  );

  it("RFC 8725 §3.10: a key inside the token is not used", async () => {
    const { ring } = await isolate();
    const foreign = await generateKeyPair("ES256");
    const forged = await new CompactSign(encodeUtf8(JSON.stringify(claims)))
      .setProtectedHeader({
        alg: "ES256",
        typ: "at+jwt",
        kid: (await keyOf("ES256")).kid,
        jwk: await exportJWK(foreign.publicKey),
      })
      .sign(foreign.privateKey);
    expect((await request(verify(ring, forged))).result).toBeUndefined();
  });

  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  it.each<[string, (token: string) => string]>([
    ["truncated by a character", (token) => token.slice(0, -1)],
    ["without its signature", (token) => token.slice(0, token.lastIndexOf("."))],
    ["with an empty signature", (token) => token.slice(0, token.lastIndexOf(".") + 1)],
    ["extended by a character", (token) => `${token}A`],
    ["extended by four", (token) => `${token}AAAA`],
    ["padded", (token) => `${token}==`],
    ["with a fourth segment", (token) => `${token}.`],
    ["with a segment twice", (token) => `${token.split(".")[0]}.${token}`],
    ["with a space before", (token) => ` ${token}`],
    ["with a newline after", (token) => `${token}\n`],
    ["with a newline inside", (token) => `${token.slice(0, 20)}\n${token.slice(20)}`],
    ["with a NUL after", (token) => `${token}\0`],
    [
      "in the other base64 alphabet",
      (token) =>
        token
          .replaceAll("-", "+")
          .replaceAll("_", "/")
          .replace(/[A-Za-z0-9](?=\.)/, "+"),
    ],
    ["with unused trailing bits set", (token) => token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1)!) + 1]],
    ["with its claims changed", (token) => token.replace(/\..*\./, `.${encode({ ...claims, sub: "mallory" })}.`)],
    ["longer than the limit", (token) => token + "A".repeat(16_384)],
    ["empty", () => ""],
    ["two dots", () => ".."],
  ])("RFC 7515 §5.2: a good token %s is refused", async (_, mangle) => {
    const { ring } = await isolate();
    const { result: token } = await request(sign(ring));
    expect((await request(verify(ring, token))).result).toBeDefined();
    expect((await request(verify(ring, mangle(token)))).result).toBeUndefined();
  });
});

describe("unknown kids", () => {
  const forge = (kid: string, iss = claims.iss) =>
    `${encodeBase64Url(encodeUtf8(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid })))}.${encodeBase64Url(encodeUtf8(JSON.stringify({ iss })))}.AAAA`;

  it("K6: ten thousand of them cost nothing", async () => {
    const { ring } = await isolate();
    const { result: token } = await request(sign(ring));
    let calls = 0;
    for (let index = 0; index < 10_000; index += 1) {
      const context = createRequestContext(new Request("https://op.example.com/"), bindings, createExecutionContext());
      context.progress.controlConfirmed = true;
      expect(await ring.verify(context, forge(`kid-${index}`), { typ })).toBeUndefined();
      calls += context.counts!.object + context.counts!.kv + context.counts!.d1;
    }
    expect(calls).toBe(0);
    expect((await request(verify(ring, token))).counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("K6: without a control version that was confirmed since the request, a token of this provider is unavailable, not unknown", async () => {
    const { ring } = await isolate();
    await request(sign(ring));
    const context = createRequestContext(new Request("https://op.example.com/"), bindings, createExecutionContext());
    await expect(ring.verify(context, forge("kid"), { typ })).rejects.toThrow(UnavailableError);
    expect(await ring.verify(context, forge("kid", "https://other.example"), { typ })).toBeUndefined();
  });

  it("cost nothing in a token that is foreign or malformed", async () => {
    const { ring } = await isolate();
    await request(sign(ring));
    for (const token of [forge("kid", "https://other.example"), `${forge("kid")}.x`, forge("kid").slice(0, -4)]) {
      expect(await request(verify(ring, token))).toEqual({ result: undefined, counts: { object: 0, kv: 0, d1: 0 } });
    }
  });

  it("a key created meanwhile is found", async () => {
    const { ring, control } = await isolate();
    const before = (await request((context) => ring.schedule(context))).result;
    for (const { kid } of before.keys) await bindings.KEY_MANAGER.getByName(keyManagerName).revokeKey(kid, kid);
    const other = await isolate(await newestVersion());
    const { result: token } = await request(sign(other.ring));
    await request(async (context) => control.observe(context, await newestVersion()));
    expect((await request(verify(ring, token))).result).toBeDefined();
  });
});
