import { env } from "cloudflare:workers";
import { clientSecretSeal, scimTokenOwner } from "@edge-op/shared/callers/client-secret";
import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import { upstreamSeal } from "@edge-op/shared/upstreams/upstream";
import { factorSeal } from "@edge-op/shared/users/factors";
import { beforeEach, describe, expect, it } from "vitest";
import { countSealedBefore, sealedTables, sealSecretsAgain } from "../src/sweeps/seal-secrets-again.ts";

const { DB } = env as unknown as { DB: D1Database };
const old = { OP_MASTER_KEY: "A".repeat(43), DB };
const replaced = { OP_MASTER_KEY: `${"B".repeat(42)}A`, OP_MASTER_KEY_PREVIOUS: old.OP_MASTER_KEY, DB };
const afterwards = { OP_MASTER_KEY: replaced.OP_MASTER_KEY, DB };

const tables = [
  {
    name: "client_secrets",
    purpose: "client-secret-seal",
    bound: clientSecretSeal("service", "app"),
    key: "id",
    insert: "INSERT INTO client_secrets VALUES (?1, 'service', ?2, ?3, 0, NULL)",
  },
  {
    name: "scim_tokens",
    purpose: "client-secret-seal",
    bound: clientSecretSeal(scimTokenOwner("acme"), "app"),
    key: "id",
    insert: "INSERT INTO scim_tokens VALUES (?1, 'acme', 'Entra', ?2, ?3, 0, 1)",
  },
  {
    name: "user_totp",
    purpose: "factor-seal",
    bound: factorSeal("pat", "app"),
    key: "factor_id",
    insert: "INSERT INTO user_totp VALUES ('pat', ?1, ?2, ?3, 1, 0, NULL)",
  },
  {
    name: "upstreams",
    purpose: "upstream-seal",
    bound: upstreamSeal("app"),
    key: "upstream_id",
    insert: "INSERT INTO upstreams VALUES (?1, 'active', '{}', ?2, ?3, 0, 0)",
  },
] as const;

it("ADR 6: every table that names the key of its secrets is sealed again", async () => {
  const { results } = await DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND instr(sql, 'sealed_by') > 0 ORDER BY name",
  ).all<{ name: string }>();
  const named = results.map(({ name }) => name);
  expect(named).toEqual(sealedTables.map(({ name }) => name).toSorted());
  expect(named).toEqual(tables.map(({ name }) => name).toSorted());
});

describe.each(tables)("the secrets in $name", ({ name, purpose, bound, key, insert }) => {
  beforeEach(async () => {
    const secret = await sealText(old, purpose, "the secret", { bound });
    const fingerprint = await keyFingerprint(old.OP_MASTER_KEY);
    await DB.batch([
      DB.prepare(`DELETE FROM ${name}`),
      DB.prepare(
        "INSERT OR IGNORE INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('pat', 'pat', 'pat', 0, 0)",
      ),
      DB.prepare(
        "INSERT OR IGNORE INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES ('service', '{}', 0, 0)",
      ),
      DB.prepare(
        "INSERT OR IGNORE INTO organizations (org_id, status, document, created_at_ms, updated_at_ms) VALUES ('acme', 'active', '{}', 0, 0)",
      ),
      DB.prepare(insert).bind("app", secret, fingerprint),
      DB.prepare(insert).bind("broken", "xx", fingerprint),
    ]);
  });

  const stored = (id: string) =>
    DB.prepare(`SELECT secret, sealed_by FROM ${name} WHERE ${key} = ?1`)
      .bind(id)
      .first<{ secret: string; sealed_by: string }>();

  it("ADR 6: after the replacement they open without the previous key; one that does not open is marked", async () => {
    expect(await openSealed(afterwards, purpose, (await stored("app"))!.secret, bound)).toBeUndefined();
    expect((await countSealedBefore(replaced))[name]).toBe(2);
    expect(await sealSecretsAgain(replaced)).toBe(true);
    expect((await countSealedBefore(replaced))[name]).toBe(0);
    expect(await countSealedBefore(afterwards)).toEqual({});
    const { secret, sealed_by } = (await stored("app"))!;
    expect(sealed_by).toBe(await keyFingerprint(afterwards.OP_MASTER_KEY));
    expect(await openSealed(afterwards, purpose, secret, bound)).toBe("the secret");
    expect(await stored("broken")).toEqual({ secret: "xx", sealed_by: "none" });
  });

  it("without a previous key, or before the swap, nothing changes", async () => {
    const before = await stored("app");
    expect(await sealSecretsAgain(old)).toBe(true);
    expect(await sealSecretsAgain({ ...old, OP_MASTER_KEY_PREVIOUS: replaced.OP_MASTER_KEY })).toBe(true);
    expect(await stored("app")).toEqual(before);
  });
});
