import { countCalls } from "@edge-op/shared/http/count-calls";
import type { ManagementEnv } from "@edge-op/workers/env";
import { describe, expect, it } from "vitest";
import { AdminCaller, bindings, dumpDatabase } from "./fixtures/admin-fixtures.ts";

const web = { redirect_uris: ["https://app.example/cb"] };

type Method = "begin" | "publish" | "openGeneration";

/** The control plane, whose calls of `method` fail `times` times. */
function failingControlPlane(method: Method, times = 1): Pick<ManagementEnv, "CONTROL_PLANE"> {
  let left = times;
  const failing = (stub: object): object =>
    new Proxy(stub, {
      get(object, property) {
        if (property === method && left > 0) {
          left -= 1;
          return () => Promise.reject(new Error("overloaded"));
        }
        const value: unknown = Reflect.get(object, property, object);
        return typeof value === "function" ? (...args: unknown[]) => Reflect.apply(value, object, args) : value;
      },
    });
  const namespace = new Proxy(bindings.CONTROL_PLANE, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, object, args);
        return property === "get" || property === "getByName" ? failing(result as object) : result;
      };
    },
  });
  return { CONTROL_PLANE: namespace };
}

async function withClient(): Promise<string> {
  const { body } = await new AdminCaller().call("POST", "/clients", { body: { ...web, client_id: "app" } });
  return `/clients/${body.client_id}`;
}

describe("when the control plane fails", () => {
  it("protocols.md §2: a change whose intent is not durable is 503 and not made", async () => {
    const path = await withClient();
    const admin = new AdminCaller(failingControlPlane("begin"));
    await admin.call("GET", path);
    const before = await dumpDatabase();
    const response = await admin.call("PATCH", path, { body: { client_name: "New" } });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await dumpDatabase()).toBe(before);
    expect((await admin.call("PATCH", path, { body: { client_name: "New" } })).status).toBe(200);
  });

  it("protocols.md §2: a change that is not in force everywhere is 503, once, and the same request succeeds later", async () => {
    const path = await withClient();
    const admin = new AdminCaller(failingControlPlane("publish"));
    expect((await admin.call("PATCH", path, { body: { status: "disabled" } })).status).toBe(503);
    const { results } = await bindings.DB.prepare(
      "SELECT action FROM admin_events WHERE action = 'client.update'",
    ).all();
    expect(results.length).toBe(1);
    expect((await admin.call("PATCH", path, { body: { status: "disabled" } })).status).toBe(200);
  });

  it("admin API: a creation that is committed and not known everywhere is 503, not a conflict with itself", async () => {
    const admin = new AdminCaller(failingControlPlane("publish"));
    const body = { ...web, client_id: "chosen" };
    expect((await admin.call("POST", "/clients", { body })).status).toBe(503);
    expect((await admin.call("GET", "/clients/chosen")).status).toBe(200);
    expect((await admin.call("POST", "/clients", { body })).status).toBe(409);
  });

  it.each(["begin", "publish"] as const)("admin API: a deletion that fails at %s can be sent again", async (method) => {
    const path = await withClient();
    const admin = new AdminCaller(failingControlPlane(method));
    expect((await admin.call("DELETE", path)).status).toBe(503);
    expect((await admin.call("DELETE", path)).status).toBe(204);
    expect((await admin.call("GET", path)).status).toBe(404);
  });

  it("admin API: a suspension that is not in force everywhere is 503, and the same request completes it", async () => {
    const admin = new AdminCaller(failingControlPlane("publish"));
    const setUp = new AdminCaller();
    await setUp.call("PUT", "/roles/support", { body: { permissions: ["admin:users"] } });
    await setUp.call("POST", "/users", { body: { sub: "alice", username: "alice", roles: ["support"] } });
    const victim = await admin.issueToken({ user: "alice" });
    expect((await admin.call("GET", "/users", { token: victim })).status).toBe(200);
    expect((await admin.call("PATCH", "/users/alice", { body: { status: "suspended" } })).status).toBe(503);
    const response = await admin.call("PATCH", "/users/alice", { body: { status: "suspended" } });
    expect(response.status).toBe(200);
    expect((await admin.call("GET", "/users", { token: victim })).status).toBe(401);
  });

  it("admin API: a generation that cannot be opened is 503", async () => {
    const admin = new AdminCaller(failingControlPlane("openGeneration"));
    const body = { store: "code", regions: { wnam: { shards: 2, hint: "wnam" } } };
    expect((await admin.call("POST", "/shards/generations", { body })).status).toBe(503);
    expect((await admin.call("POST", "/shards/generations", { body })).body.generation).toBe(2);
  });
});

describe("when D1 fails", () => {
  it("style: unavailability is 503, never 404 or an empty list", async () => {
    await withClient();
    const admin = new AdminCaller();
    const token = await admin.issueToken();
    expect((await admin.call("GET", "/clients", { token })).status).toBe(200);
    const broken = new Proxy(bindings.DB, {
      get: () => () => {
        throw new Error("D1 is away");
      },
    });
    const statuses: number[] = [];
    for (const path of ["/clients", "/clients/app", "/users", "/roles/x", "/shards/generations"]) {
      statuses.push((await admin.call("GET", path, { token, overrides: { DB: broken } })).status);
    }
    expect(statuses).toEqual([503, 503, 503, 503, 503]);
  });
});

describe("cost", () => {
  it("ARCHITECTURE.md, costs: a warm read is 1 D1 and no KV, a creation 1 D1, 1 more with roles, 2 more with a chosen id", async () => {
    const counts = { object: 0, kv: 0, d1: 0 };
    const admin = new AdminCaller(countCalls(bindings, counts));
    const costOf = async (method: string, path: string, body?: unknown): Promise<[number, number]> => {
      Object.assign(counts, { object: 0, kv: 0, d1: 0 });
      const { status } = await admin.call(method, path, { body });
      expect(status).toBeLessThan(300);
      return [counts.d1, counts.kv];
    };
    // The first change of a deployment announces the generations of its migrations to every isolate. It drops them with the response of the first
    // request and reads them again for the second.
    await admin.call("POST", "/clients", { body: { ...web, client_id: "first" } });
    await admin.call("GET", "/clients");
    await admin.call("GET", "/clients");
    expect({
      createClient: await costOf("POST", "/clients", web),
      createChosenClient: await costOf("POST", "/clients", { ...web, client_id: "app" }),
      createUser: await costOf("POST", "/users", { sub: "alice", username: "alice", roles: ["x"] }),
      readClient: await costOf("GET", "/clients/app"),
      listUsers: await costOf("GET", "/users"),
      readKeys: await costOf("GET", "/keys"),
    }).toEqual({
      createClient: [1, 0],
      createChosenClient: [3, 0],
      createUser: [4, 0],
      readClient: [1, 0],
      listUsers: [1, 0],
      readKeys: [0, 0],
    });
  });
});
