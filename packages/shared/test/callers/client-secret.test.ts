import { encodeBase64Url } from "@edge-op/protocol/encoding/bytes";
import { afterEach, expect, it, vi } from "vitest";
import { matchesClientSecret, sealClientSecret } from "../../src/callers/client-secret.ts";
import type { ClientSecret } from "../../src/clients/client.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const env = { OP_MASTER_KEY: encodeBase64Url(new Uint8Array(32).fill(1)) };

const clientId = "app";

async function storedSecret(text: string, expiresAtMs?: number, id = text): Promise<ClientSecret> {
  const { secret: sealed } = await sealClientSecret(env, text, { clientId, id });
  return { id, sealed, expiresAtMs };
}

const matches = (text: string, secrets: readonly ClientSecret[], atMs = 0) =>
  matchesClientSecret(env, text, { clientId, secrets }, atMs);

it("a secret that matched before is compared without a hash; any other secret needs one, and opens each stored one", async () => {
  const secrets = [await storedSecret("first"), await storedSecret("second")];
  expect(await matches("second", secrets)).toBe(true);
  const calls = [vi.spyOn(crypto.subtle, "digest"), vi.spyOn(crypto.subtle, "decrypt")] as const;
  expect(await matches("second", secrets)).toBe(true);
  expect(calls.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
  expect(await matches("first", secrets)).toBe(true);
  expect(await matches("third", secrets)).toBe(false);
  expect(calls.map(({ mock }) => mock.calls.length)).toEqual([2, 4]);
});

it("a secret that matched earlier is refused after it has ended or its record has changed", async () => {
  const expiring = await storedSecret("expiring", 1_000);
  expect(await matches("expiring", [expiring], 999)).toBe(true);
  expect(await matches("expiring", [expiring], 1_000)).toBe(false);
  const reset = await storedSecret("other", 1_000, "expiring");
  expect(await matches("expiring", [reset], 999)).toBe(false);
});

it("a stored secret that is moved to another client or row matches nothing", async () => {
  const own = await storedSecret("secret");
  expect(await matchesClientSecret(env, "secret", { clientId: "other", secrets: [own] }, 0)).toBe(false);
  expect(await matches("secret", [{ ...own, id: "other" }])).toBe(false);
  expect(await matches("secret", [own])).toBe(true);
});

it("missing values never match: zero bytes, an unknown client, an unreadable seal", async () => {
  const zeros = "\0".repeat(32);
  expect(await matches(zeros, [await storedSecret("secret")])).toBe(false);
  expect(await matches(zeros, [])).toBe(false);
  expect(await matchesClientSecret(env, zeros, undefined, 0)).toBe(false);
  expect(await matches(zeros, [{ id: "1", sealed: "!", expiresAtMs: undefined }])).toBe(false);
});
