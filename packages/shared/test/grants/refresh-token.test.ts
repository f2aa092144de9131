import fc from "fast-check";
import { expect, it } from "vitest";
import { createRequestContext } from "../../src/http/request-context.ts";
import {
  formatSignedRefreshToken,
  type RefreshToken,
  readRefreshToken,
  sealSubject,
} from "../../src/refresh/refresh-token.ts";

const env = { OP_MASTER_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", ISSUER: "https://op.example.com" };
const otherEnv = { ...env, OP_MASTER_KEY: "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" };
const read = (token: string, bindings = env) =>
  readRefreshToken(
    createRequestContext(new Request("https://op.example.com/"), bindings, { waitUntil: () => undefined }),
    token,
  );

const address = fc.record({
  generation: fc.integer({ min: 1, max: 999_999 }),
  region: fc.constantFrom("wnam", "weur", "apac"),
  shard: fc.integer({ min: 0, max: 999_999 }),
});
const grant = fc.record({
  grantId: fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
  address,
});
const sub = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._~:@|/-]{0,254}$/);
const version = fc.integer({ min: 0, max: 999_999 });

async function issue(token: Omit<RefreshToken, "sealed">) {
  const sealed = await sealSubject(env, token);
  return { sealed, text: await formatSignedRefreshToken(env, { ...token, sealed }) };
}

it("only this provider can read the grant and user in a refresh token", async () => {
  await fc.assert(
    fc.asyncProperty(fc.record({ grant, sub, address, version }), async (token) => {
      const { sealed, text } = await issue(token);
      expect(await read(text)).toEqual({ ...token, sealed });
      expect(await read(text, otherEnv)).toBeUndefined();
      if (token.sub.length > 3) expect(atob(sealed.replaceAll("-", "+").replaceAll("_", "/"))).not.toContain(token.sub);
    }),
    { numRuns: 50 },
  );
});

it("R4: a refresh token with any character changed, added or removed is unknown", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ grant, sub, address, version }),
      fc.nat(),
      fc.constantFrom("A", "B", "0", "1", ".", "_"),
      async (token, at, character) => {
        const { text } = await issue(token);
        const index = at % text.length;
        for (const changed of [
          text.slice(0, index) + character + text.slice(index + 1),
          text.slice(0, index) + character + text.slice(index),
          text.slice(0, index) + text.slice(index + 1),
        ]) {
          if (changed !== text) expect(await read(changed)).toBeUndefined();
        }
      },
    ),
    { numRuns: 100 },
  );
});

it("the same version has the same text", async () => {
  const token = { sealed: "c2VhbGVk", address: { generation: 1, region: "wnam", shard: 3 }, version: 7 };
  expect(await formatSignedRefreshToken(env, token)).toBe("rt.g1.wnam.3.c2VhbGVk.7.CCu6T6be0ycM-FfdHJigVg");
});

it("ADR 6: a family sealed before the secret was replaced is read while that secret is kept, and unknown afterwards", async () => {
  const token = {
    grant: { grantId: "g", address: { generation: 1, region: "wnam", shard: 0 } },
    sub: "alice",
    address: { generation: 1, region: "wnam", shard: 2 },
    version: 3,
  };
  const { sealed } = await issue(token);
  const replaced = { ...otherEnv, OP_MASTER_KEY_PREVIOUS: env.OP_MASTER_KEY };
  const successor = await formatSignedRefreshToken(replaced, { ...token, sealed });
  expect(await read(successor, replaced)).toEqual({ ...token, sealed });
  expect(await read(successor, otherEnv)).toBeUndefined();
});
