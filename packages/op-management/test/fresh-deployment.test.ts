import { describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

/** Tests the fixtures: leftovers of one test would make another one fail, only on a slow machine. */
describe("a test's deployment", () => {
  const newestVersions = async () => {
    const shards = Array.from({ length: 8 }, (_, shard) =>
      bindings.TOKEN_REVOCATION_STORE.getByName(`revocation:g1:wnam:${shard}`).check([], [], -1),
    );
    return Math.max(...(await Promise.all(shards)).map(({ cv }) => cv));
  };

  it("keeps the test's data, however long it takes", async () => {
    await new AdminCaller().call("PUT", "/groups/staff", { body: { roles: ["editor"] } });
    await bindings.CACHE.put("left", "behind");
    expect(await newestVersions()).toBeGreaterThan(0);
    // The runtime shuts idle objects down meanwhile.
    await scheduler.wait(10_500);
  });

  it("is empty for the next test", async () => {
    expect(await newestVersions()).toBe(0);
    expect(await bindings.CACHE.get("left")).toBeNull();
    expect((await bindings.DB.prepare("SELECT * FROM group_roles").all()).results).toEqual([]);
  });
});
