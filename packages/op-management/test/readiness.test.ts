import { createExecutionContext, createScheduledController } from "cloudflare:test";
import { retirementDueMs } from "@edge-op/shared/storage/generation-table";
import { describe, expect, it } from "vitest";
import { waitBriefly } from "../../../test/fixtures/call.ts";
import { openSecondGeneration } from "../../../test/fixtures/open-generation.ts";
import { createApp } from "../src/app.ts";
import { createWorker } from "../src/worker.ts";
import { AdminCaller, bindings, issuer } from "./fixtures/admin-fixtures.ts";

/** `/ready`: its checks, the access to details, and its cost. */
function counting(): { readonly env: typeof bindings; readonly reads: () => number } {
  let reads = 0;
  const DB = new Proxy(bindings.DB, {
    get(database, property) {
      const value: unknown = Reflect.get(database, property, database);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (property === "prepare" && args[0] === "SELECT 1") reads += 1;
        return Reflect.apply(value, database, args);
      };
    },
  });
  return { env: { ...bindings, DB }, reads: () => reads };
}

async function ready(app: ReturnType<typeof createApp>, env = bindings, headers: Record<string, string> = {}) {
  const execution = createExecutionContext();
  const response = await app.fetch(new Request(`${issuer}/ready`, { headers }), env, execution);
  await waitBriefly(execution);
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    headers: response.headers,
  };
}

describe("GET /ready", () => {
  it("only shows whether it is ready, and checks once for any number of callers", async () => {
    const app = createApp();
    const { env, reads } = counting();
    const responses = await Promise.all(Array.from({ length: 20 }, () => ready(app, env)));
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(responses[0]!.body).toEqual({ status: "ready" });
    expect(reads()).toBe(1);
  });

  it("is requested by the platform's clock: a deployment that is not ready writes the data point that the alert counts", async () => {
    const points: AnalyticsEngineDataPoint[] = [];
    const METRICS = { writeDataPoint: (point: AnalyticsEngineDataPoint) => points.push(point) };
    const DB = {
      prepare: () => {
        throw new Error("gone");
      },
    } as unknown as typeof bindings.DB;
    const execution = createExecutionContext();
    const controller = createScheduledController({ cron: "*/5 * * * *" });
    await createWorker().scheduled(controller, { ...bindings, DB, METRICS }, execution);
    await waitBriefly(execution);
    expect(points.map(({ blobs = [] }) => blobs.slice(0, 3))).toEqual([["/ready", "GET", "unavailable"]]);
  });

  it("shows each check to an administrator, but not to a token without the scope", async () => {
    const admin = new AdminCaller();
    const token = await admin.issueToken();
    const { body } = await ready(createApp(admin.isolate), bindings, { authorization: `Bearer ${token}` });
    expect(body).toEqual({
      status: "ready",
      checks: [
        { name: "d1", required: true, ok: true },
        { name: "keys", required: true, ok: true },
        { name: "shards", required: true, ok: true },
        { name: "generations", required: false, ok: true },
        { name: "audit-database", required: false, ok: true },
        { name: "audit-outbox", required: false, ok: true },
      ],
    });
    const other = await admin.issueToken({ scope: ["admin:users"] });
    expect((await ready(createApp(admin.isolate), bindings, { authorization: `Bearer ${other}` })).status).toBe(403);
  });

  it.each([
    ["an hour late", 3_600_000, { ok: false, detail: "not retired: code 1" }],
    ["due", 0, { ok: true }],
  ])("G2: a generation whose retirement is %s is reported or not, and changes nothing", async (_, lateMs, result) => {
    const issuing = new AdminCaller();
    const authorization = `Bearer ${await issuing.issueToken()}`;
    await openSecondGeneration(bindings, "code", Date.now() - retirementDueMs("code", 0) - lateMs);
    const { status, body } = await ready(createApp(), bindings, { authorization });
    expect(status).toBe(200);
    expect(body.checks).toContainEqual({ name: "generations", required: false, ...result });
  });

  it("a provider of mail that accepts nothing is reported and changes nothing", async () => {
    const admin = new AdminCaller();
    const authorization = `Bearer ${await admin.issueToken()}`;
    const status = { waiting: 3, refused: 2, refusedSinceMs: Date.now() - 700_000 };
    const sender = { getByName: () => ({ status: () => Promise.resolve(status) }) };
    const MAIL_SENDER = sender as unknown as typeof bindings.MAIL_SENDER;
    const env = { ...bindings, MAIL_SENDER, MAIL_PROVIDER: "cloudflare", MAIL_FROM: "no-reply@example.com" };
    const { status: code, body } = await ready(createApp(admin.isolate), env, { authorization });
    expect(code).toBe(200);
    const checks = body["checks"] as readonly { readonly name: string }[];
    expect(checks.find(({ name }) => name === "mail")).toMatchObject({
      ...{ required: false, ok: false },
      detail: expect.stringMatching(/^2 mails wait, the oldest for 70\d s$/),
    });
  });

  it("503 without a shard; an unreachable audit database is reported and changes nothing", async () => {
    const silent = { getByName: () => ({ statistics: () => Promise.reject(new Error("away")) }) };
    const TOKEN_REVOCATION_STORE = silent as unknown as typeof bindings.TOKEN_REVOCATION_STORE;
    const { status, headers } = await ready(createApp(), { ...bindings, TOKEN_REVOCATION_STORE });
    expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    await bindings.AUDIT_DB.exec("DROP TABLE audit_events");
    const away = { prepare: () => ({ first: () => Promise.reject(new Error("away")) }) } as unknown as D1Database;
    expect((await ready(createApp(), { ...bindings, AUDIT_DB: away })).status).toBe(200);
  });
});
