import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import type { SettingsVariables } from "@edge-op/shared/http/settings";
import { type KeyManagerRpc, keyManagerName } from "@edge-op/shared/keys/key-manager";
import { type KeyBindings, KeyRing } from "@edge-op/shared/keys/key-ring";
import { type ScheduledKey, signingKey } from "@edge-op/shared/keys/key-schedule";
import { keyTiming } from "@edge-op/shared/keys/key-timing";
import { unwrapPrivateKey } from "@edge-op/shared/keys/wrapped-private-key";
import { encodeBase64Url, encodeUtf8 } from "@edge-op/shared/oauth/bytes";
import { UnavailableError } from "@edge-op/shared/oauth/errors";
import { ControlView } from "@edge-op/shared/storage/control-view";
import { CompactSign, exportJWK, generateKeyPair } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

type Env = KeyBindings & SettingsVariables;

const bindings: Env = { ...(env as unknown as Env), SERVER_TIMING: "true" };
const start = Date.parse("2026-11-21T00:00:00Z");
const day = 86_400_000;
const typ = ["at+jwt"];
const claims = { iss: "https://op.example.com", sub: "alice" };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(start);
});
afterEach(() => {
  vi.useRealTimers();
});

/** Runs work as one request, its background work included; says what it cost. */
async function request<T>(work: (context: RequestContext<Env>) => Promise<T>, bindingsOf: Env = bindings) {
  const execution = createExecutionContext();
  const context = createRequestContext(new Request("https://op.example.com/token"), bindingsOf, execution);
  try {
    return { result: await work(context), counts: context.counts };
  } finally {
    await waitOnExecutionContext(execution);
  }
}

const awayManager = {
  idFromName: () => undefined,
  getByName: () => ({ schedule: () => Promise.reject(new Error("away")) }),
} as unknown as DurableObjectNamespace<KeyManagerRpc>;
const away: Env = { ...bindings, KEY_MANAGER: awayManager };

const sign =
  (ring: KeyRing, content: object = claims) =>
  (context: RequestContext<Env>) =>
    ring.sign(context, { alg: "ES256", typ: "at+jwt", claims: { ...content } });
const verify = (ring: KeyRing, token: string) => (context: RequestContext<Env>) => ring.verify(context, token, { typ });

/** An isolate that knows the control version, as every one does that answers a caller. */
async function isolate(cv = 1) {
  const control = new ControlView();
  const ring = new KeyRing(control);
  await request((context) => control.observe(context, cv));
  return { control, ring };
}

async function recordChange(kind: string, id: string): Promise<number> {
  const row = await bindings.DB.prepare(
    "INSERT INTO control_changes (kind, id, at_ms) VALUES (?1, ?2, 0) RETURNING version",
  )
    .bind(kind, id)
    .first<{ version: number }>();
  return row!.version;
}

async function keyOf(alg: "ES256" | "RS256" | "EdDSA"): Promise<ScheduledKey> {
  return signingKey(await bindings.KEY_MANAGER.getByName(keyManagerName).schedule(), alg, start)!;
}

describe("signing and verifying", () => {
  it.each(["ES256", "RS256", "EdDSA"] as const)(
    "RFC 7515 §3.1: what %s signs verifies, and names its key",
    async (alg) => {
      const { ring } = await isolate();
      const { result: token } = await request((context) => ring.sign(context, { alg, typ: "at+jwt", claims }));
      const { result: verified } = await request(verify(ring, token));
      const key = await keyOf(alg);
      expect(verified).toEqual({
        header: { alg, typ: "at+jwt", kid: key.kid },
        claims,
        kid: key.kid,
        retireAtMs: key.retireAtMs,
      });
    },
  );

  it("a cold isolate asks KV and KeyManager once, the next one KV alone, a warm one nobody", async () => {
    const first = await isolate();
    expect((await request(sign(first.ring))).counts).toEqual({ object: 1, kv: 2, d1: 0 });
    const second = await isolate();
    const signed = await request(sign(second.ring));
    expect(signed.counts).toEqual({ object: 0, kv: 1, d1: 0 });
    expect((await request(sign(second.ring))).counts).toEqual({ object: 0, kv: 0, d1: 0 });
    expect((await request(verify(second.ring, signed.result))).counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("requests that need the schedule at the same time ask KeyManager once, and write one copy", async () => {
    const { ring } = await isolate();
    const signed = await Promise.all(Array.from({ length: 50 }, () => request(sign(ring))));
    const total = { object: 0, puts: -50 };
    for (const { counts } of signed) {
      total.object += counts!.object;
      total.puts += counts!.kv;
    }
    expect(total).toEqual({ object: 1, puts: 1 });
  });

  it("RFC 8725 §3.11: a token of another type is not verified", async () => {
    const { ring } = await isolate();
    const { result: token } = await request((context) => ring.sign(context, { alg: "ES256", typ: "JWT", claims }));
    expect((await request(verify(ring, token))).result).toBeUndefined();
    expect(
      (await request((context) => ring.verify(context, token, { typ: ["application/jwt"] }))).result,
    ).toBeDefined();
  });
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
  ])("RFC 8725 §3.1: %s is refused though the signature is right", async (_, header) => {
    const { ring } = await isolate();
    expect((await request(verify(ring, await signAs(header)))).result).toBeUndefined();
  });

  it.each([
    ["an array", []],
    ["a string", "text"],
    ["null", null],
    ["not JSON", "{"],
  ])("RFC 7519 §7.2: claims that are %s are refused though the signature is right", async (_, payload) => {
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

  it("RFC 8725 §3.10: a key that the token brings along is not used", async () => {
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

  it("ten thousand of them cost one call a second, and other requests nothing", async () => {
    const { ring } = await isolate();
    const { result: token } = await request(sign(ring));
    let objects = 0;
    let kv = 0;
    for (let index = 0; index < 10_000; index += 1) {
      const context = createRequestContext(new Request("https://op.example.com/"), bindings, createExecutionContext());
      expect(await ring.verify(context, forge(`kid-${index}`), { typ })).toBeUndefined();
      objects += context.counts!.object;
      kv += context.counts!.kv;
    }
    expect({ objects, kv }).toEqual({ objects: 1, kv: 1 });
    expect((await request(verify(ring, token))).counts).toEqual({ object: 0, kv: 0, d1: 0 });
    vi.setSystemTime(start + 1_000);
    expect((await request(verify(ring, forge("kid")))).counts).toMatchObject({ object: 1 });
  });

  it("cost nothing in a token that is not ours or not well-formed", async () => {
    const { ring } = await isolate();
    await request(sign(ring));
    for (const token of [forge("kid", "https://other.example"), `${forge("kid")}.x`, forge("kid").slice(0, -4)]) {
      expect(await request(verify(ring, token))).toEqual({ result: undefined, counts: { object: 0, kv: 0, d1: 0 } });
    }
  });

  it("a key made meanwhile is found", async () => {
    const { ring } = await isolate();
    const before = (await request((context) => ring.schedule(context))).result;
    for (const { kid } of before.keys) await bindings.KEY_MANAGER.getByName(keyManagerName).revokeKey(kid, kid);
    const other = await isolate(await recordChange("keys", "*"));
    const { result: token } = await request(sign(other.ring));
    expect((await request(verify(ring, token))).result).toBeDefined();
  });

  it("a reload that fails keeps what is held", async () => {
    const { ring } = await isolate();
    const { result: token } = await request(sign(ring));
    expect((await request(verify(ring, forge("kid")), away)).result).toBeUndefined();
    expect((await request(verify(ring, token), away)).result).toBeDefined();
  });
});

describe("KeyManager away", () => {
  it("an isolate goes on for days with what it holds, and asks at most once in ten seconds", async () => {
    const { ring } = await isolate();
    await request(sign(ring));
    await bindings.CACHE.delete("keys:schedule");
    vi.setSystemTime(start + 3 * day);
    const first = await request(sign(ring), away);
    expect(first.counts).toEqual({ object: 1, kv: 1, d1: 0 });
    expect((await request(verify(ring, first.result), away)).counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("a new isolate goes on with the copy in KV, however old", async () => {
    await request(sign((await isolate()).ring));
    vi.setSystemTime(start + 3 * day);
    const { ring } = await isolate();
    expect((await request(sign(ring), away)).result).toMatch(/^ey/);
  });

  it("a change of something else does not make the copy in KV unusable", async () => {
    await request(sign((await isolate()).ring));
    const { ring } = await isolate(await recordChange("client", "a"));
    expect((await request(sign(ring), away)).result).toMatch(/^ey/);
  });

  it("without any copy nothing is signed and nothing verified: unavailable", async () => {
    const { ring } = await isolate();
    await expect(request(sign(ring), away)).rejects.toThrow(UnavailableError);
    await expect(request(verify((await isolate()).ring, await tokenOfOtherIsolate()), away)).rejects.toThrow(
      UnavailableError,
    );
  });

  async function tokenOfOtherIsolate() {
    const { result } = await request(sign((await isolate()).ring));
    await bindings.CACHE.delete("keys:schedule");
    return result;
  }

  it("K5: when the schedule has run out nothing is signed", async () => {
    const { ring } = await isolate();
    await request(sign(ring));
    vi.setSystemTime(start + 2 * keyTiming.signMs);
    await expect(request(sign(ring), away)).rejects.toThrow(UnavailableError);
    vi.setSystemTime(start + 2 * keyTiming.signMs + 1_000);
    expect((await request(sign(ring))).result).toMatch(/^ey/);
  });
});

describe("a change of keys", () => {
  it("protocols §4: a revoked key's tokens are refused by an isolate that has learnt of it, with a stale copy in KV", async () => {
    const { ring, control } = await isolate();
    const { result: token } = await request(sign(ring));
    const stale = (await bindings.CACHE.get("keys:schedule"))!;
    await bindings.KEY_MANAGER.getByName(keyManagerName).revokeKey((await keyOf("ES256")).kid, "op-1");
    const cv = await recordChange("keys", "*");

    expect((await request(verify(ring, token))).result).toBeDefined();
    await request((context) => control.observe(context, cv));
    expect((await request(verify(ring, token))).result).toBeUndefined();

    // KV shows its old value for up to a minute more; new isolates must not believe it.
    await bindings.CACHE.put("keys:schedule", stale);
    expect((await request(verify((await isolate(cv)).ring, token))).result).toBeUndefined();
  });

  it("protocols §4: a stale copy in KV is not believed while KeyManager is away either: unavailable", async () => {
    const { ring, control } = await isolate();
    await request(sign(ring));
    const cv = await recordChange("keys", "*");
    await request((context) => control.observe(context, cv));
    await expect(request(sign(ring), away)).rejects.toThrow(UnavailableError);
    await expect(request(sign((await isolate(cv)).ring), away)).rejects.toThrow(UnavailableError);
  });

  it("protocols §4: what was asked for before the change is not held after it", async () => {
    const { ring } = await isolate();
    const { result: token } = await request(sign(ring));
    const old = await bindings.KEY_MANAGER.getByName(keyManagerName).schedule();
    await bindings.KEY_MANAGER.getByName(keyManagerName).revokeKey((await keyOf("ES256")).kid, "op-1");
    const cv = await recordChange("keys", "*");
    await bindings.CACHE.delete("keys:schedule");

    // A new isolate asks; the answer, from before the revocation, arrives after the change was learnt.
    const late = Promise.withResolvers<void>();
    let asked = 0;
    const slowManager = {
      getByName: () => ({
        schedule: async () => {
          asked += 1;
          if (asked > 1) return bindings.KEY_MANAGER.getByName(keyManagerName).schedule();
          await late.promise;
          return old;
        },
      }),
    } as unknown as DurableObjectNamespace<KeyManagerRpc>;
    const slow = { ...bindings, KEY_MANAGER: slowManager };
    const learning = new ControlView();
    const asking = new KeyRing(learning);
    await request((context) => learning.observe(context, 1));
    const verification = request(verify(asking, token), slow);
    await vi.waitFor(() => expect(asked).toBe(1));
    await request((context) => learning.observe(context, cv));
    late.resolve();
    expect((await verification).result).toBeUndefined();
  });
});
