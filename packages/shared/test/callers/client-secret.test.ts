import { encodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { afterEach, expect, it, vi } from "vitest";
import { macClientSecret, matchesClientSecret } from "../../src/callers/client-secret.ts";
import type { ClientSecret } from "../../src/clients/client.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const env = { OP_MASTER_KEY: encodeBase64Url(new Uint8Array(32).fill(1)) };

async function storedSecret(text: string, expiresAtMs?: number): Promise<ClientSecret> {
  return { id: text, mac: await macClientSecret(env, text), expiresAtMs };
}

const matches = (text: string, secrets: readonly ClientSecret[], atMs = 0) =>
  matchesClientSecret(env, text, secrets, atMs);

it("a secret that matched before is compared without a MAC; any other secret needs a MAC", async () => {
  const secrets = [await storedSecret("first"), await storedSecret("second")];
  expect(await matches("second", secrets)).toBe(true);
  const macs = vi.spyOn(crypto.subtle, "sign");
  expect(await matches("second", secrets)).toBe(true);
  expect(macs).not.toHaveBeenCalled();
  expect(await matches("first", secrets)).toBe(true);
  expect(await matches("third", secrets)).toBe(false);
  expect(macs).toHaveBeenCalledTimes(2);
});

it("a secret that matched earlier is refused after it has ended or its record has changed", async () => {
  const expiring = await storedSecret("expiring", 1_000);
  expect(await matches("expiring", [expiring], 999)).toBe(true);
  expect(await matches("expiring", [expiring], 1_000)).toBe(false);
  const reset = { ...expiring, mac: await macClientSecret(env, "other") };
  expect(await matches("expiring", [reset], 999)).toBe(false);
});

it("missing values never match: zero bytes, an unknown client, an unreadable MAC", async () => {
  const zeros = "\0".repeat(32);
  expect(await matches(zeros, [await storedSecret("secret")])).toBe(false);
  expect(await matches(zeros, [])).toBe(false);
  expect(await matches(zeros, [{ id: "1", mac: "!", expiresAtMs: undefined }])).toBe(false);
});
