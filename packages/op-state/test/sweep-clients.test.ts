/** **Unused clients that no administrator registered are deleted** (ADR 47), by the alarm of the real control plane. */

import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { ClientDirectory } from "@edge-op/shared/clients/client-directory";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { ControlView } from "@edge-op/shared/control/control-view";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import type { StorageBindings } from "@edge-op/shared/storage/read-through";
import { expect, it, vi } from "vitest";
import { leastMetadata } from "../../../test/fixtures/seed.ts";
import { clientSweep } from "../src/sweeps/sweep-clients.ts";
import { follow, plane, ring, start, told, useControlPlaneFixtures } from "./fixtures/control-plane-fixtures.ts";

type FixtureEnv = StorageBindings & SettingsVariables & { readonly DB: D1Database };
const fixtureEnv = env as unknown as FixtureEnv;
const { DB } = fixtureEnv;
const hour = 3_600_000;
const day = 24 * hour;
const idleDays = 90;

useControlPlaneFixtures();

interface Row {
  readonly id: string;
  readonly origin: "document" | "registration" | null;
  readonly createdAtMs: number;
  readonly usedAtMs: number | null;
}

async function store(...rows: readonly Row[]): Promise<void> {
  const insert = DB.prepare(
    "INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms, origin, used_at_ms) VALUES (?1, ?5, ?2, ?2, ?3, ?4)",
  );
  const metadata = JSON.stringify(leastMetadata);
  await DB.batch(rows.map((row) => insert.bind(row.id, row.createdAtMs, row.origin, row.usedAtMs, metadata)));
}

async function remaining(): Promise<string[]> {
  const { results } = await DB.prepare("SELECT client_id AS id FROM clients ORDER BY client_id").all<{ id: string }>();
  return results.map(({ id }) => id);
}

async function ringAfterChange(): Promise<void> {
  await plane().begin(crypto.randomUUID());
  vi.setSystemTime(Date.now() + 10_000);
  await ring();
}

/** Runs the next alarms, each at its time, because some are for other work. */
async function ringUntil(isDone: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 5 && !(await isDone()); turn += 1) {
    vi.setSystemTime((await runInDurableObject(plane(), (_, { storage }) => storage.getAlarm()))!);
    await ring();
  }
}

async function request<T>(work: (context: RequestContext<FixtureEnv>) => Promise<T> | T): Promise<T> {
  const execution = createExecutionContext();
  const context = createRequestContext(new Request("https://op.example.com/"), fixtureEnv, execution);
  try {
    return await work(context);
  } finally {
    await waitOnExecutionContext(execution);
  }
}

const newestVersion = async () =>
  (await DB.prepare("SELECT max(version) AS cv FROM control_changes").first<{ cv: number }>())!.cv;

it("an unused registration is deleted after a day; a used one 90 days later; an administrator's client is kept", async () => {
  await store(
    { id: "admin", origin: null, createdAtMs: 0, usedAtMs: null },
    { id: "fresh", origin: "registration", createdAtMs: start - day + hour, usedAtMs: null },
    { id: "idle", origin: "registration", createdAtMs: 0, usedAtMs: start - idleDays * day },
    { id: "https://agent.example.com/idle", origin: "document", createdAtMs: 0, usedAtMs: start - idleDays * day },
    { id: "https://agent.example.com/used", origin: "document", createdAtMs: 0, usedAtMs: start - 89 * day },
    { id: "unused", origin: "registration", createdAtMs: start - day, usedAtMs: null },
    { id: "used", origin: "registration", createdAtMs: 0, usedAtMs: start - 2 * day },
  );
  await ringAfterChange();
  expect(await remaining()).toEqual(["admin", "fresh", "https://agent.example.com/used", "used"].sort());
  const { results } = await DB.prepare(
    "SELECT target, sub, detail FROM admin_events WHERE action = 'client.expire' ORDER BY target",
  ).all();
  expect(results).toEqual([
    { target: "https://agent.example.com/idle", sub: "sweep", detail: '{"origin":"document"}' },
    { target: "idle", sub: "sweep", detail: '{"origin":"registration"}' },
    { target: "unused", sub: "sweep", detail: '{"origin":"registration"}' },
  ]);
});

it("the deletion of a used client travels with the leases: an isolate that holds a copy drops it", async () => {
  await store(
    { id: "idle", origin: "registration", createdAtMs: 0, usedAtMs: start - idleDays * day },
    { id: "kept", origin: "registration", createdAtMs: 0, usedAtMs: start - day },
  );
  const control = new ControlView();
  const clients = new ClientDirectory(control);
  await request(async (context) => control.observe(context, await newestVersion()));
  expect(await request((context) => clients.find(context, "idle"))).toBeDefined();
  expect(await request((context) => clients.find(context, "kept"))).toBeDefined();
  await ringAfterChange();
  await follow("revocation:g1:wnam:0");
  const { cv } = told("revocation:g1:wnam:0");
  expect(cv).toBe(await newestVersion());
  // From memory, and KV, until the change arrives.
  expect(await request((context) => clients.find(context, "idle"))).toBeDefined();
  await request((context) => control.observe(context, cv));
  expect(await request((context) => clients.find(context, "idle"))).toBeUndefined();
  expect(await request((context) => clients.find(context, "kept"))).toBeDefined();
});

it("a registration that was never used expires by the clock in every copy, without a change", async () => {
  await store({ id: "unused", origin: "registration", createdAtMs: start - day + hour, usedAtMs: null });
  const control = new ControlView();
  const clients = new ClientDirectory(control);
  await request(async (context) => control.observe(context, await newestVersion()));
  expect(await request((context) => clients.find(context, "unused"))).toBeDefined();
  const before = await newestVersion();
  vi.setSystemTime(start + hour);
  await ringAfterChange();
  expect(await remaining()).toEqual([]);
  expect(await newestVersion()).toBe(before);
  // A first use is not a change either: copies expire by the time when each of them would include it.
  vi.setSystemTime(start + 4 * hour);
  expect(await request((context) => clients.find(context, "unused"))).toBeUndefined();
});

it("an announcement that fails is repeated by the alarm", async () => {
  await store({ id: "idle", origin: "registration", createdAtMs: 0, usedAtMs: start - idleDays * day });
  await DB.prepare("ALTER TABLE announced_version RENAME TO unreachable").run();
  await ringAfterChange();
  expect(await remaining()).toEqual([]);
  const announced = async () =>
    (await DB.prepare("SELECT version FROM announced_version").first<{ version: number }>())!.version;
  await DB.prepare("ALTER TABLE unreachable RENAME TO announced_version").run();
  expect(await announced()).toBe(0);
  await ringUntil(async () => (await announced()) > 0);
  expect(await announced()).toBe(await newestVersion());
});

it("a backlog is deleted in bounded batches", async () => {
  const rows = Array.from({ length: clientSweep.idle + 10 }, (_, index): Row => {
    return { id: `c${index}`, origin: "registration", createdAtMs: 0, usedAtMs: start - (idleDays + 1) * day };
  });
  await store(...rows);
  await ringAfterChange();
  expect(await remaining()).toHaveLength(10);
  await ringUntil(async () => (await remaining()).length === 0);
  expect(await remaining()).toEqual([]);
});

it("use is recorded once a day, and only for clients that could expire", async () => {
  await store(
    { id: "registered", origin: "registration", createdAtMs: 0, usedAtMs: start - 2 * day },
    { id: "today", origin: "registration", createdAtMs: 0, usedAtMs: start - hour },
    { id: "admin", origin: null, createdAtMs: 0, usedAtMs: null },
  );
  const clients = new ClientDirectory(new ControlView());
  const use = async (id: string) =>
    request(async (context) => clients.noteUse(context, (await clients.find(context, id))!));
  const usedAt = async (id: string) =>
    (await DB.prepare("SELECT used_at_ms AS at FROM clients WHERE client_id = ?1")
      .bind(id)
      .first<{ at: number | null }>())!.at;
  for (const id of ["registered", "today", "admin"]) await use(id);
  expect(await Promise.all(["registered", "today", "admin"].map(usedAt))).toEqual([start, start - hour, null]);
  vi.setSystemTime(start + 23 * hour);
  await use("registered");
  expect(await usedAt("registered")).toBe(start);
  vi.setSystemTime(start + day + hour);
  await use("registered");
  expect(await usedAt("registered")).toBe(start + day + hour);
});
