import { expect, it } from "vitest";
import { useFreshDeployment } from "../../../../test/fixtures/fresh-deployment.ts";
import { leastMetadata } from "../../../../test/fixtures/seed.ts";
import { setChangeLogBackTo } from "../../../../test/fixtures/set-back.ts";
import { ClientDirectory } from "../../src/clients/client-directory.ts";
import { ControlView } from "../../src/control/control-view.ts";
import { withMembers } from "../../src/http/request-context.ts";
import type { NamedChange } from "../../src/storage/record-kinds.ts";
import { sharedEnv, withinRequest } from "../fixtures/request-fixtures.ts";

useFreshDeployment();
const { DB, CACHE } = sharedEnv;

/** The memory of a Worker that has read its clients at a control version. */
class Isolate {
  readonly control = new ControlView();
  readonly #clients = new ClientDirectory(this.control);

  observe(cv: number, changes: readonly NamedChange[] = []) {
    return withinRequest((context) => this.control.observe(context, cv, changes));
  }

  async find(clientId: string) {
    const { result, counts } = await withinRequest((context) => this.#clients.find(context, clientId));
    return { status: result?.status, d1: counts.d1 };
  }
}

async function register(...clientIds: readonly string[]): Promise<void> {
  const insert = DB.prepare(
    "INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES (?1, ?2, 0, 0)",
  );
  await DB.batch(clientIds.map((clientId) => insert.bind(clientId, JSON.stringify(leastMetadata))));
}

/** Returns the change's number; the migration's row is 1. */
async function disable(clientId: string): Promise<number> {
  const [, row] = await DB.batch<{ version: number }>([
    DB.prepare("UPDATE clients SET status = 'disabled' WHERE client_id = ?1").bind(clientId),
    DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ?1, 0) RETURNING version").bind(
      clientId,
    ),
  ]);
  return row!.results[0]!.version;
}

const deleteBelow = (version: number) =>
  DB.prepare("DELETE FROM control_changes WHERE version < ?1").bind(version).run();

async function warmIsolate(): Promise<Isolate> {
  const isolate = new Isolate();
  await isolate.observe(1);
  expect(await isolate.find("app")).toEqual({ status: "active", d1: 1 });
  expect(await isolate.find("other")).toEqual({ status: "active", d1: 1 });
  return isolate;
}

it("ADR 12: a change invalidates only the records that it names", async () => {
  await register("app", "other");
  const isolate = await warmIsolate();
  await isolate.observe(await disable("app"));
  expect(await isolate.find("app")).toEqual({ status: "disabled", d1: 1 });
  expect(await isolate.find("other")).toEqual({ status: "active", d1: 0 });
});

it("ADR 12: an isolate that lags behind deleted rows discards every copy, so no changed record counts as active", async () => {
  await register("app", "other");
  const isolate = await warmIsolate();
  await disable("app");
  const cv = await disable("third");
  await deleteBelow(cv);
  await isolate.observe(cv);
  expect(isolate.control.version).toBe(cv);
  expect(await isolate.find("app")).toEqual({ status: "disabled", d1: 1 });
  expect(await isolate.find("other")).toEqual({ status: "active", d1: 1 });
});

it("ADR 12: … and uses no copy in KV that is older than the gap", async () => {
  await register("app", "other");
  const isolate = await warmIsolate();
  const stale = (await CACHE.get("client:app"))!;
  await disable("app");
  const cv = await disable("third");
  await deleteBelow(cv);
  await isolate.observe(cv);
  await CACHE.put("client:app", stale);
  expect(await isolate.find("app")).toEqual({ status: "disabled", d1: 1 });
});

it("ADR 12: deleting rows that an isolate has already read costs it nothing", async () => {
  await register("app", "other");
  const isolate = await warmIsolate();
  const cv = await disable("app");
  await deleteBelow(cv);
  await isolate.observe(cv);
  expect(await isolate.find("app")).toEqual({ status: "disabled", d1: 1 });
  expect(await isolate.find("other")).toEqual({ status: "active", d1: 0 });
});

it("ADR 11: if D1 has lost a version, the isolate discards every copy, and numbers continue after a gap", async () => {
  await register("app", "other");
  const isolate = await warmIsolate();
  const stale = (await CACHE.get("client:app"))!;
  await disable("third");
  const cv = await disable("third");
  await setChangeLogBackTo(DB, 1);
  await DB.prepare("UPDATE clients SET status = 'disabled' WHERE client_id = 'app'").run();
  await isolate.observe(cv);
  expect(isolate.control.version).toBe(cv + 2);
  await CACHE.put("client:app", stale);
  expect(await isolate.find("app")).toEqual({ status: "disabled", d1: 1 });
  expect(await isolate.find("other")).toEqual({ status: "active", d1: 1 });
  expect(await disable("other")).toBe(cv + 3);
});

it("ADR 11: isolates that detect the loss at the same time agree on the next numbers", async () => {
  await register("app", "other");
  const isolates = await Promise.all([warmIsolate(), warmIsolate(), warmIsolate()]);
  const cv = await disable("third");
  await setChangeLogBackTo(DB, 1);
  await Promise.allSettled(isolates.map((isolate) => isolate.observe(cv)));
  await Promise.all(isolates.map((isolate) => isolate.observe(cv)));
  expect(isolates.map(({ control }) => control.version)).toEqual(Array(3).fill(cv + 2));
});

it("ADR 11: an outdated read loses nothing: 503, and no numbers change", async () => {
  await register("app", "other");
  const { control } = await warmIsolate();
  const cv = await disable("app");
  const lagging = {
    prepare: (query: string) =>
      DB.prepare(query.startsWith("SELECT version") ? `${query.split(" WHERE")[0]} WHERE ?1 < 0 AND ?2` : query),
  } as unknown as D1Database;
  const observed = withinRequest((context) =>
    control.observe(withMembers(context, { env: { ...context.env, DB: lagging } }), cv),
  );
  await expect(observed).rejects.toMatchObject({ name: "UnavailableError", store: "D1" });
  expect(control.version).toBe(1);
  expect(await disable("other")).toBe(cv + 1);
});

it("a cold isolate uses copies in KV that no later change names, and reads D1 only for the others", async () => {
  await register("app", "other", "third");
  const warm = await warmIsolate();
  expect(await warm.find("third")).toEqual({ status: "active", d1: 1 });
  const changes = [1, await disable("app"), await disable("nobody")].map((version, index) => ({
    version,
    kind: "client" as const,
    id: ["earlier", "app", "nobody"][index]!,
  }));
  const cv = changes.at(-1)!.version;
  const cold = new Isolate();
  await cold.observe(cv, changes);
  expect(await cold.find("other")).toEqual({ status: "active", d1: 0 });
  expect(await cold.find("app")).toEqual({ status: "disabled", d1: 1 });
  // It does not know whether one of the changes up to 2 names it.
  const late = new Isolate();
  await late.observe(cv, changes.slice(2));
  expect(await late.find("third")).toEqual({ status: "active", d1: 1 });
});

it("a cold isolate that receives no changes, or a gap, uses no copy older than the version", async () => {
  await register("app", "other");
  await warmIsolate();
  const cv = await disable("nobody");
  const named = [{ version: cv - 1, kind: "client" as const, id: "earlier" }];
  for (const changes of [[], named]) {
    await CACHE.put("client:app", JSON.stringify({ cv: 1, value: { status: "active", cutOffs: [] } }));
    const cold = new Isolate();
    await cold.observe(cv, changes);
    expect((await cold.find("app")).d1).toBe(1);
  }
});
