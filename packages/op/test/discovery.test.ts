import { env } from "cloudflare:workers";
import { countCalls } from "@edge-op/shared/http/count-calls";
import type { FrontDoorEnv } from "@edge-op/workers/env";
import { describe, expect, it } from "vitest";
import { call } from "../../../test/fixtures/call.ts";
import { createApp } from "../src/app.ts";
import { publishChange } from "./fixtures/publish-change.ts";

/** ADR 47: `client_id_metadata_document_supported` depends on the settings and the rows of `/admin/client-document-hosts`. */
const bindings = env as unknown as FrontDoorEnv;
const member = "client_id_metadata_document_supported";
const path = "/.well-known/oauth-authorization-server";
const away = {
  idFromName: () => ({}),
  getByName: () => ({ check: () => Promise.reject(new Error("away")), lease: () => Promise.reject(new Error("away")) }),
} as unknown as FrontDoorEnv["TOKEN_REVOCATION_STORE"];
const statement = { bind: () => statement, first: down, all: down };
const brokenDatabase = { prepare: () => statement, batch: down } as unknown as D1Database;

function down(): Promise<never> {
  return Promise.reject(new Error("down"));
}

async function isSupported(app: ReturnType<typeof createApp>, from: FrontDoorEnv = bindings): Promise<boolean> {
  const response = await call(app, from, path);
  expect(response.status).toBe(200);
  return Object.hasOwn(await response.json<object>(), member);
}

/** Makes a change like the admin API: the row, then the change. */
async function change(sql: string): Promise<void> {
  await bindings.DB.prepare(sql).run();
  await publishChange("document-hosts");
}

const set = (host: string, policy: string) =>
  change(
    `INSERT INTO document_hosts (host, policy, updated_at_ms) VALUES ('${host}', '${policy}', 0)
       ON CONFLICT (host) DO UPDATE SET policy = excluded.policy`,
  );

describe("ADR 47: discovery follows the hosts of documents", () => {
  it("a warm and a cold isolate advertise it as soon as a row admits a host, and stop when it is deleted", async () => {
    const app = createApp();
    expect(await isSupported(app)).toBe(false);
    const before = (await call(app, bindings, path)).headers.get("ETag")!;
    await set("agent.example.com", "ask");
    for (const each of [app, createApp()]) expect(await isSupported(each)).toBe(true);
    const stale = await call(app, bindings, path, { headers: { "if-none-match": before } });
    expect(stale.status).toBe(200);
    await set("agent.example.com", "deny");
    for (const each of [app, createApp()]) expect(await isSupported(each)).toBe(false);
    expect((await call(app, bindings, path)).headers.get("ETag")).toBe(before);
    await set("*.example.net", "allow");
    expect(await isSupported(app)).toBe(true);
    await change("DELETE FROM document_hosts");
    for (const each of [app, createApp()]) expect(await isSupported(each)).toBe(false);
  });

  it("claims_supported follows the mapping of attributes, in a warm and a cold isolate", async () => {
    const app = createApp();
    const shown = async (each: ReturnType<typeof createApp>) =>
      (await (await call(each, bindings, path)).json<{ claims_supported: string[] }>()).claims_supported.includes(
        "desk",
      );
    expect(await shown(app)).toBe(false);
    await change(
      `INSERT INTO attributes VALUES ('desk', '{"type":"string","title":"Desk","claim":{"name":"desk"}}', 0, 0)`,
    );
    for (const each of [app, createApp()]) expect(await shown(each)).toBe(true);
    await change("DELETE FROM attributes");
    for (const each of [app, createApp()]) expect(await shown(each)).toBe(false);
  });

  it("a row that denies every host precedes the settings; one that denies a single host does not", async () => {
    const open = { ...bindings, CLIENT_DOCUMENTS: "ask" };
    const some = { ...bindings, CLIENT_DOCUMENT_HOSTS: "allow=agent.example.com" };
    const app = createApp();
    for (const each of [open, some]) expect(await isSupported(app, each)).toBe(true);
    await set("other.example.com", "deny");
    for (const each of [open, some]) expect(await isSupported(app, each)).toBe(true);
    await set("*", "deny");
    for (const each of [open, some]) expect(await isSupported(app, each)).toBe(false);
  });

  it.each([
    ["strict", 0],
    ["direct", 1],
  ])("a warm request in %s mode: %i object calls, 0 KV, 0 D1", async (mode, object) => {
    const app = createApp();
    const counts = { object: 0, kv: 0, d1: 0 };
    const counted = countCalls({ ...bindings, REVOCATION_MODE: mode }, counts);
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await call(app, counted, path);
    Object.assign(counts, { object: 0, kv: 0, d1: 0 });
    expect((await call(app, counted, path)).status).toBe(200);
    expect(counts).toEqual({ object, kv: 0, d1: 0 });
  });

  it("without any store it responds with the settings; a warm isolate with its last known state", async () => {
    const broken = { ...bindings, TOKEN_REVOCATION_STORE: away, DB: brokenDatabase };
    expect(await isSupported(createApp(), broken)).toBe(false);
    expect(await isSupported(createApp(), { ...broken, CLIENT_DOCUMENTS: "ask" })).toBe(true);
    // Settings belong to a set of bindings: a warm isolate keeps its own.
    const later = { ...bindings, REVOCATION_MODE: "direct" };
    const app = createApp();
    await set("agent.example.com", "allow");
    expect(await isSupported(app, later)).toBe(true);
    later.TOKEN_REVOCATION_STORE = away;
    later.DB = brokenDatabase;
    expect(await isSupported(app, later)).toBe(true);
    later.TOKEN_REVOCATION_STORE = bindings.TOKEN_REVOCATION_STORE;
    expect(await isSupported(app, later)).toBe(true);
  });

  it("after a failure no store is called for ten seconds", async () => {
    const app = createApp();
    const counts = { object: 0, kv: 0, d1: 0 };
    const counted = countCalls({ ...bindings, TOKEN_REVOCATION_STORE: away }, counts);
    await isSupported(app, counted);
    const first = { ...counts };
    for (let each = 0; each < 5; each += 1) expect(await isSupported(app, counted)).toBe(false);
    expect(counts).toEqual(first);
  });
});
