/** **Accounts whose person has asked to delete them are erased** when their time has come, by the alarm of the real control plane. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { plane, ring, start, useControlPlaneFixtures } from "./fixtures/control-plane-fixtures.ts";

const { DB, AUDIT_DB } = env as unknown as { readonly DB: D1Database; readonly AUDIT_DB: D1Database };
const day = 86_400_000;

useControlPlaneFixtures();

async function leave(sub: string, inDays: number, status = "active"): Promise<void> {
  await DB.prepare(
    "INSERT INTO users (sub, username, username_key, status, created_at_ms, updated_at_ms, deletes_at_ms) VALUES (?1, ?1, ?1, ?2, 0, 0, ?3)",
  )
    .bind(sub, status, start + inDays * day)
    .run();
  await DB.prepare("INSERT INTO user_passwords (sub, hash, updated_at_ms) VALUES (?1, 'a hash', 0)").bind(sub).run();
}

async function sweep(): Promise<void> {
  const before = await DB.prepare("SELECT count(*) AS n FROM admin_events").first<number>("n");
  for (let turn = 0; turn < 5; turn += 1) {
    const alarm = await runInDurableObject(plane(), (_, { storage }) => storage.getAlarm());
    if (alarm === null) return;
    vi.setSystemTime(Math.max(alarm, Date.now()));
    await ring();
    if ((await DB.prepare("SELECT count(*) AS n FROM admin_events").first<number>("n")) !== before) return;
  }
}

const names = async (table: string) =>
  (await DB.prepare(`SELECT sub FROM ${table} ORDER BY sub`).all<{ sub: string }>()).results.map(({ sub }) => sub);

const events = async () =>
  (await DB.prepare("SELECT action, target FROM admin_events ORDER BY seq").all<{ action: string; target: string }>())
    .results;

it("erases who is due and retires the sub, tells who is due in three days once, and leaves the others and the suspended", async () => {
  await leave("due", -0.5);
  await leave("held", -0.5, "suspended");
  await leave("later", 10);
  await leave("soon", 2.5);
  await DB.prepare(
    "INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('stays', 'stays', 'stays', 0, 0)",
  ).run();
  await plane().begin(crypto.randomUUID());
  vi.setSystemTime(Date.now() + 10_000);
  await ring();
  await sweep();
  expect(await names("users")).toEqual(["held", "later", "soon", "stays"]);
  expect(await names("user_passwords")).toEqual(["held", "later", "soon"]);
  expect(await events()).toEqual([
    { action: "account.deletion_near", target: "soon" },
    { action: "user.delete", target: "due" },
  ]);
  const retired = await Promise.all([
    DB.prepare("SELECT count(*) AS n FROM retired_subs").first("n"),
    AUDIT_DB.prepare("SELECT count(*) AS n FROM retired_subjects").first("n"),
  ]);
  expect(retired).toEqual([1, 1]);
  const { results } = await DB.prepare("SELECT kind FROM control_changes WHERE id = 'due' ORDER BY kind").all();
  expect(results).toEqual([{ kind: "rbac" }, { kind: "user" }]);
  vi.setSystemTime(start + 1.2 * day);
  await ring();
  expect((await events()).filter(({ action }) => action === "account.deletion_near")).toHaveLength(1);
});
