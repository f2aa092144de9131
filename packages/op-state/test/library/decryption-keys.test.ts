import { DecryptionKeys } from "@edge-op/op-auth/runtime/decryption-keys";
import { encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { contentEncryptionAlgorithms, keyManagementAlgorithms } from "@edge-op/protocol/jwt/encryption-algorithms";
import { keyAlgorithms } from "@edge-op/protocol/jwt/key-algorithms";
import {
  isPublished,
  type KeySchedule,
  keyManagerName,
  keyTiming,
  type ScheduledKey,
  signingKey,
  verifyMs,
} from "@edge-op/shared/keys/key-schedule";
import { CompactEncrypt, type CompactJWEHeaderParameters, importJWK, type JWK } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { bindings, day, isolate, recordChange, request, start, stored } from "../fixtures/key-ring-fixtures.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(start);
});
afterEach(() => {
  vi.useRealTimers();
});

function manager() {
  return bindings.KEY_MANAGER.getByName(keyManagerName);
}

function schedule(): Promise<KeySchedule> {
  return manager().schedule([...keyAlgorithms], true);
}

async function published(alg: ScheduledKey["alg"]): Promise<ScheduledKey> {
  return signingKey(await schedule(), alg, Date.now())!;
}

async function encrypt(
  key: ScheduledKey,
  header: Partial<CompactJWEHeaderParameters> = {},
  text = "the text",
): Promise<string> {
  const all = { alg: key.alg, enc: "A128GCM", kid: key.kid, ...header };
  const publicKey = await importJWK(key.publicJwk as JWK, all.alg);
  return new CompactEncrypt(encodeUtf8(text)).setProtectedHeader(all).encrypt(publicKey);
}

async function opener() {
  const { control, ring } = await isolate();
  const keys = new DecryptionKeys(ring);
  const open = (jwe: string) => request((context) => keys.decrypt(context, jwe));
  return { control, ring, keys, open };
}

it.each(keyManagementAlgorithms)(
  "RFC 7516 §5.2: what is encrypted by %s is decrypted, named by kid or not",
  async (alg) => {
    const key = await published(alg);
    const { open } = await opener();
    for (const enc of contentEncryptionAlgorithms) {
      expect((await open(await encrypt(key, { enc }))).result).toBe("the text");
      expect((await open(await encrypt(key, { enc, kid: undefined as never }))).result).toBe("the text");
    }
  },
);

it("a cold isolate reads the schedule; a warm one calls nothing", async () => {
  const jwe = await encrypt(await published("ECDH-ES"));
  await stored();
  const { open } = await opener();
  expect((await open(jwe)).counts).toEqual({ object: 0, kv: 2, d1: 1 });
  expect(await open(jwe)).toEqual({ result: "the text", counts: { object: 0, kv: 0, d1: 0 } });
});

describe("the schedule", () => {
  it("a replaced key decrypts for a day after it was last published, and nothing afterwards", async () => {
    const old = await published("ECDH-ES+A256KW");
    const jwe = await encrypt(old);
    vi.setSystemTime(start + day);
    await manager().rotate("ECDH-ES+A256KW", "op-1");
    expect((await published("ECDH-ES+A256KW")).kid).not.toBe(old.kid);
    const endMs = start + day + keyTiming.overlapMs + verifyMs;
    vi.setSystemTime(endMs - 1);
    expect((await (await opener()).open(jwe)).result).toBe("the text");
    vi.setSystemTime(endMs);
    expect((await (await opener()).open(jwe)).result).toBeUndefined();
  });

  it("ADR 6: the first key of an algorithm is published and decrypts before every isolate was notified of it", async () => {
    const { open, ring } = await opener();
    await request((context) => ring.schedule(context));
    const { keys } = await manager().schedule(["ECDH-ES"]);
    const first = keys.find((key) => key.alg === "ECDH-ES" && isPublished(key, start))!;
    expect(first.isNew).toBe(true);
    expect(await open(await encrypt(first))).toMatchObject({ result: "the text", counts: { object: 1 } });
  });

  it("an isolate knows a key before it is published", async () => {
    const { open } = await opener();
    await open(await encrypt(await published("RSA-OAEP-256")));
    const next = (await schedule()).keys.find(({ alg, signFromMs }) => alg === "RSA-OAEP-256" && signFromMs > start)!;
    expect(await open(await encrypt(next))).toEqual({ result: "the text", counts: { object: 0, kv: 0, d1: 0 } });
  });

  it("a revoked key decrypts nothing once the change is known", async () => {
    const key = await published("ECDH-ES");
    const jwe = await encrypt(key);
    const { control, open } = await opener();
    expect((await open(jwe)).result).toBe("the text");
    await manager().revokeKey(key.kid, "op-1");
    const version = await recordChange("keys", "*");
    await request((context) => control.observe(context, version));
    expect((await open(jwe)).result).toBeUndefined();
    expect((await open(await encrypt(await published("ECDH-ES")))).result).toBe("the text");
  });

  it("K6: unknown kids cost nothing", async () => {
    const { open } = await opener();
    const key = await published("ECDH-ES");
    await open(await encrypt(key));
    const counts = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => (await open(await encrypt(key, { kid: `k${index}` }))).counts),
    );
    expect(counts.reduce((sum, each) => sum + each!.object, 0)).toBe(0);
  });
});

describe("RFC 8725 §3: refused, whatever is inside", () => {
  const encode = (value: unknown) => encodeBase64Url(encodeUtf8(JSON.stringify(value)));

  /** A valid JWE under another header: no library makes these. */
  async function withHeader(header: Readonly<Record<string, unknown>>, alg: ScheduledKey["alg"] = "RSA-OAEP-256") {
    const key = await published(alg);
    const [own, ...rest] = (await encrypt(key)).split(".");
    const decoded = JSON.parse(atob(own!.replaceAll("-", "+").replaceAll("_", "/"))) as object;
    return [encode({ ...decoded, ...header }), ...rest].join(".");
  }

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["dir", { alg: "dir" }],
    ["RSA1_5", { alg: "RSA1_5" }],
    ["RSA-OAEP with SHA-1", { alg: "RSA-OAEP" }],
    ["PBES2 with a large count", { alg: "PBES2-HS256+A128KW", p2s: "c2FsdHNhbHQ", p2c: 2_000_000_000 }],
    ["A128KW", { alg: "A128KW" }],
    ["no alg", { alg: undefined }],
    ["alg an array", { alg: ["RSA-OAEP-256"] }],
    ["an unknown enc", { enc: "A192GCM" }],
    ["no enc", { enc: undefined }],
    ["compression", { zip: "DEF" }],
    ["a critical extension", { crit: ["exp"], exp: 1 }],
    ["another algorithm of the same key type", { alg: "ECDH-ES" }],
    ["an unknown kid", { kid: "nobody" }],
    ["kid of the prototype", { kid: "__proto__" }],
    ["kid a number", { kid: 1 }],
    ["another header", { added: true }],
  ])("%s", async (_, header) => {
    expect((await (await opener()).open(await withHeader(header))).result).toBeUndefined();
  });

  it("a valid JWE that is compressed, and one that would become a megabyte", async () => {
    const { open } = await opener();
    for (const alg of ["RSA-OAEP-256", "ECDH-ES"] as const) {
      const key = await published(alg);
      expect((await open(await encrypt(key, { zip: "DEF" }))).result).toBeUndefined();
      const bomb = await encrypt(key, { zip: "DEF" }, "0".repeat(1_000_000));
      expect(bomb.length).toBeLessThan(16_384);
      expect((await open(bomb)).result).toBeUndefined();
    }
  });

  it("a valid JWE for the published key by another algorithm: RSA-OAEP with SHA-1", async () => {
    const { open } = await opener();
    const key = await published("RSA-OAEP-256");
    const { n, e } = key.publicJwk;
    const jwe = await encrypt({ ...key, publicJwk: { kty: "RSA", n: n!, e: e! } }, { alg: "RSA-OAEP" });
    expect((await open(jwe)).result).toBeUndefined();
  });

  it("the kid of a signing key, or of another algorithm's key", async () => {
    const { open } = await opener();
    for (const alg of ["RS256", "PS256", "ES256", "ECDH-ES+A128KW"] as const) {
      const { kid } = await published(alg);
      expect((await open(await withHeader({ kid }))).result).toBeUndefined();
      expect((await open(await withHeader({ kid }, "ECDH-ES"))).result).toBeUndefined();
    }
  });

  it("an ephemeral key that is not on the curve, of another curve, private, or missing", async () => {
    const { open } = await opener();
    const { publicKey } = (await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-384" }, true, [
      "deriveBits",
    ])) as CryptoKeyPair;
    const other = await crypto.subtle.exportKey("jwk", publicKey);
    const { x } = (await published("ECDH-ES+A128KW")).publicJwk;
    for (const epk of [{ kty: "EC", crv: "P-256", x, y: x }, other, { kty: "oct", k: "AA" }, "x", undefined]) {
      expect((await open(await withHeader({ epk }, "ECDH-ES"))).result).toBeUndefined();
    }
  });

  it("a changed octet of any part, fewer or more parts, and more than the limit", async () => {
    const { open } = await opener();
    const jwe = await encrypt(await published("RSA-OAEP-256"), { enc: "A128CBC-HS256" });
    const parts = jwe.split(".");
    const changed = parts.map((part, index) => {
      const flipped = (part.startsWith("A") ? "B" : "A") + part.slice(1);
      return parts.with(index, flipped).join(".");
    });
    const oversize = await encrypt(await published("ECDH-ES"), {}, "x".repeat(17_000));
    for (const text of [...changed, parts.slice(0, 4).join("."), `${jwe}.x`, `${jwe} `, "....", "", oversize]) {
      expect((await open(text)).result).toBeUndefined();
    }
  });
});
