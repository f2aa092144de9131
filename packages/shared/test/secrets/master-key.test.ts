import { encodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { generateKeyPair } from "@edge-op/protocol/jwt/import-key";
import { rewrapPrivateKey, unwrapPrivateKey, wrapPrivateKey } from "@edge-op/shared/keys/wrapped-private-key";
import { macText, verifyMac } from "@edge-op/shared/secrets/mac";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import { afterEach, describe, expect, it, vi } from "vitest";
import { matchesClientSecret, sealClientSecret } from "../../src/callers/client-secret.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const secretOf = (byte: number) => encodeBase64Url(new Uint8Array(32).fill(byte));
const [older, newer, foreign] = [secretOf(1), secretOf(2), secretOf(3)];
const before = { OP_MASTER_KEY: older };
/** The order of a replacement: every Worker can read the next key, then it becomes current, then the previous one is removed. */
const prepared = { OP_MASTER_KEY: older, OP_MASTER_KEY_PREVIOUS: newer };
const replaced = { OP_MASTER_KEY: newer, OP_MASTER_KEY_PREVIOUS: older };
const after = { OP_MASTER_KEY: newer };

const signing = await generateKeyPair("ES256");

const place = { clientId: "app", id: "1" };
const clientOf = (secret: { readonly sealed: string; readonly expiresAtMs?: number }) => ({
  ...{ clientId: "app", secrets: [{ id: "1", expiresAtMs: undefined, ...secret }] },
});

/** Every value created with the master key: its creation, and whether it can be read. */
const uses = {
  "a MAC": {
    make: (env: MasterKeyBindings) => macText(env, "refresh-mac", "text"),
    reads: (env: MasterKeyBindings, made: string) => verifyMac(env, "refresh-mac", "text", made),
  },
  "a seal": {
    make: (env: MasterKeyBindings) => sealText(env, "refresh-seal", "text"),
    reads: async (env: MasterKeyBindings, made: string) => (await openSealed(env, "refresh-seal", made)) === "text",
  },
  "a private key": {
    make: (env: MasterKeyBindings) => wrapPrivateKey(env, "kid", "ES256", signing.privateKey),
    reads: (env: MasterKeyBindings, made: string) =>
      unwrapPrivateKey(env, "kid", "ES256", made).then(
        ({ type }) => type === "private",
        (error: Error) => {
          expect(error.message).toContain("cannot be unwrapped");
          return false;
        },
      ),
  },
  "a client secret": {
    make: async (env: MasterKeyBindings) => (await sealClientSecret(env, "secret", place)).secret,
    reads: (env: MasterKeyBindings, sealed: string) => matchesClientSecret(env, "secret", clientOf({ sealed }), 0),
  },
};

describe.each(Object.entries(uses))("ADR 6: %s", (_, { make, reads }) => {
  it("is created only with the current secret", async () => {
    for (const env of [before, prepared]) expect(await reads(before, await make(env))).toBe(true);
    for (const env of [replaced, after]) expect(await reads(after, await make(env))).toBe(true);
    for (const env of [replaced, after]) expect(await reads(before, await make(env))).toBe(false);
  });

  it("is read at each step of a replacement by the Workers of that step and of the previous one", async () => {
    const steps: readonly MasterKeyBindings[] = [before, prepared, replaced];
    for (const [index, env] of steps.entries()) {
      const made = await make(env);
      for (const reader of steps.slice(Math.max(0, index - 1), index + 2)) expect(await reads(reader, made)).toBe(true);
    }
  });

  it("is not read after its secret was removed, nor by a deployment with other secrets", async () => {
    expect(await reads(after, await make(before))).toBe(false);
    expect(await reads(replaced, await make({ OP_MASTER_KEY: foreign }))).toBe(false);
  });

  it("costs no more than without a previous secret while the current one matches", async () => {
    const made = await make(after);
    for (const env of [after, replaced]) await reads(env, made);
    const calls = { sign: vi.spyOn(crypto.subtle, "sign"), decrypt: vi.spyOn(crypto.subtle, "decrypt") };
    expect(await reads(replaced, made)).toBe(true);
    expect(calls.sign.mock.calls.length + calls.decrypt.mock.calls.length).toBe(1);
  });
});

it("ADR 6: an expired secret does not become valid through the previous key", async () => {
  const { secret: sealed } = await sealClientSecret(before, "secret", place);
  const expiring = clientOf({ sealed, expiresAtMs: 1_000 });
  expect(await matchesClientSecret(replaced, "secret", expiring, 999)).toBe(true);
  expect(await matchesClientSecret(replaced, "secret", expiring, 1_000)).toBe(false);
  expect(await matchesClientSecret(replaced, "other", clientOf({ sealed }), 0)).toBe(false);
});

it("ADR 6: private keys are rewrapped, under the same kid, with the current secret", async () => {
  const wrapped = await wrapPrivateKey(before, "kid", "ES256", signing.privateKey);
  const rewrapped = await rewrapPrivateKey(replaced, "kid", "ES256", wrapped);
  expect(await unwrapPrivateKey(after, "kid", "ES256", rewrapped!)).toMatchObject({ type: "private" });
  await expect(unwrapPrivateKey(after, "other", "ES256", rewrapped!)).rejects.toThrow("unwrapped");
  expect(await rewrapPrivateKey(replaced, "kid", "ES256", rewrapped!)).toBeUndefined();
  expect(await rewrapPrivateKey(replaced, "other", "ES256", wrapped)).toBeUndefined();
  expect(await rewrapPrivateKey(after, "kid", "ES256", wrapped)).toBeUndefined();
});

it("ADR 6: pairwise subjects stay the same with a separate secret, which is used for nothing else", async () => {
  const subject = await macText(before, "pairwise-mac", "text");
  const kept = { ...replaced, OP_PAIRWISE_KEY: older };
  expect(await macText(kept, "pairwise-mac", "text")).toBe(subject);
  expect(await macText(replaced, "pairwise-mac", "text")).not.toBe(subject);
  expect(await macText({ ...after, OP_PAIRWISE_KEY: "" }, "pairwise-mac", "text")).toBe(
    await macText(after, "pairwise-mac", "text"),
  );
  expect(await macText(kept, "refresh-mac", "text")).toBe(await macText(after, "refresh-mac", "text"));
});

it.each([
  ["OP_MASTER_KEY", { OP_MASTER_KEY: "short" }],
  ["OP_MASTER_KEY_PREVIOUS", { OP_MASTER_KEY: secretOf(4), OP_MASTER_KEY_PREVIOUS: `${older}=` }],
  ["OP_PAIRWISE_KEY", { OP_MASTER_KEY: secretOf(5), OP_PAIRWISE_KEY: "short" }],
])("a deployment with a malformed %s fails at its first use", async (name, env) => {
  await expect(macText(env, "refresh-mac", "text")).rejects.toThrow(`${name} must be 32 bytes`);
});

it.each(["", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAA", "not base64url!"])(
  "what was never wrapped or sealed (%j) is refused as such, with a previous secret too",
  async (text) => {
    for (const env of [after, replaced]) {
      await expect(unwrapPrivateKey(env, "kid", "ES256", text)).rejects.toThrow("cannot be unwrapped");
      expect(await openSealed(env, "refresh-seal", text)).toBeUndefined();
    }
  },
);
