import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import { describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

/** Objects of a class whose calls fail with a message. */
function failing<T extends object>(namespace: T, message: string): T {
  const stub = new Proxy({}, { get: () => () => Promise.reject(new Error(message)) });
  return new Proxy(namespace, {
    get(object, property) {
      if (property === "getByName") return () => stub;
      const value: unknown = Reflect.get(object, property, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

describe("GET /admin/deployment", () => {
  it("reports the fingerprint of each object's secret in every store", async () => {
    const { status, body } = await new AdminCaller().call("GET", "/deployment");
    expect(status).toBe(200);
    expect(body).toMatchObject({ unreachable: [], not_called: 0, worker: { name: "op-management" } });
    const names = body.objects.map(({ name }: { name: string }) => name);
    expect(names).toHaveLength(3 + 8 + 8 + 8 + 8 + 8);
    expect(names).toEqual(
      expect.arrayContaining(["keys", "control", "mail", "session:g1:wnam:7", "refresh:g1:wnam:7"]),
    );
    const expected = { OP_MASTER_KEY: await keyFingerprint(bindings.OP_MASTER_KEY) };
    for (const { keys } of [body.worker, ...body.objects]) expect(keys).toEqual(expected);
    for (const { name, bytes } of body.objects) expect(bytes, name).toBeGreaterThan(0);
  });

  it("reports the variables as they are set, and no secret", async () => {
    const { settings } = (await new AdminCaller().call("GET", "/deployment")).body;
    expect(settings).toMatchObject({ ISSUER: bindings.ISSUER, REFRESH_GRACE: null });
    expect(JSON.stringify(settings)).not.toContain(bindings.OP_MASTER_KEY);
    expect(Object.keys(settings).filter((name) => /SECRET|MASTER|API_KEY|TOKEN$/.test(name))).toEqual([]);
  });

  it("names the objects that do not respond", async () => {
    const admin = new AdminCaller();
    const token = await admin.issueToken();
    const overrides = { KEY_MANAGER: failing(bindings.KEY_MANAGER, "overloaded") };
    const { status, body } = await admin.call("GET", "/deployment", { token, overrides });
    expect(status).toBe(200);
    expect(body.unreachable).toEqual(["keys"]);
    expect(body.objects).toHaveLength(42);
  });
});
