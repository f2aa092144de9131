import { env } from "cloudflare:workers";
import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import { factorSeal } from "@edge-op/shared/users/factors";
import { beforeEach, expect, it } from "vitest";
import { sealFactorsAgain } from "../src/control/seal-factors-again.ts";

const { DB } = env as unknown as { DB: D1Database };
const old = { OP_MASTER_KEY: "A".repeat(43), DB };
const replaced = { OP_MASTER_KEY: `${"B".repeat(42)}A`, OP_MASTER_KEY_PREVIOUS: old.OP_MASTER_KEY, DB };
const afterwards = { OP_MASTER_KEY: replaced.OP_MASTER_KEY, DB };
const bound = factorSeal("pat", "app");

beforeEach(async () => {
  const secret = await sealText(old, "factor-seal", "the secret", { bound });
  await DB.batch([
    DB.prepare("DELETE FROM user_totp"),
    DB.prepare(
      "INSERT OR IGNORE INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('pat', 'pat', 'pat', 0, 0)",
    ),
    DB.prepare("INSERT INTO user_totp VALUES ('pat', 'app', ?1, ?2, 1, 0, NULL)").bind(
      secret,
      await keyFingerprint(old.OP_MASTER_KEY),
    ),
    DB.prepare("INSERT INTO user_totp VALUES ('pat', 'broken', 'xx', ?1, 1, 0, NULL)").bind(
      await keyFingerprint(old.OP_MASTER_KEY),
    ),
  ]);
});

const stored = (id: string) =>
  DB.prepare("SELECT secret, sealed_by FROM user_totp WHERE factor_id = ?1")
    .bind(id)
    .first<{ secret: string; sealed_by: string }>();

it("ADR 10: after the replacement, secrets open without the previous key; one that does not open is marked", async () => {
  expect(await openSealed(afterwards, "factor-seal", (await stored("app"))!.secret, bound)).toBeUndefined();
  expect(await sealFactorsAgain(replaced)).toBe(true);
  const { secret, sealed_by } = (await stored("app"))!;
  expect(sealed_by).toBe(await keyFingerprint(afterwards.OP_MASTER_KEY));
  expect(await openSealed(afterwards, "factor-seal", secret, bound)).toBe("the secret");
  expect(await stored("broken")).toEqual({ secret: "xx", sealed_by: "none" });
});

it("without a previous key, or before the swap, nothing changes", async () => {
  const before = await stored("app");
  expect(await sealFactorsAgain(old)).toBe(true);
  expect(await sealFactorsAgain({ ...old, OP_MASTER_KEY_PREVIOUS: replaced.OP_MASTER_KEY })).toBe(true);
  expect(await stored("app")).toEqual(before);
});
