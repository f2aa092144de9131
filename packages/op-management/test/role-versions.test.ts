import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller } from "./fixtures/admin-fixtures.ts";

/** Entity tags of roles and groups: a conditional change replaces only the assignment that its sender has read. */
const admin = new AdminCaller();

describe.each([
  ["/roles/versioned", "permissions"],
  ["/groups/versioned", "roles"],
])("RFC 9110 §13.1: %s", (path, member) => {
  const put = (values: readonly string[], headers: Readonly<Record<string, string>> = {}) =>
    admin.call("PUT", path, { body: { [member]: values }, headers });
  const values = async () => (await admin.call("GET", path)).body[member];

  beforeEach(() => put(["one", "two"]));

  it("the tag belongs to the content, whatever its order", async () => {
    const { headers } = await put(["two", "one"]);
    const etag = headers.get("etag");
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect((await admin.call("GET", path)).headers.get("etag")).toBe(etag);
    expect((await put(["three"])).headers.get("etag")).not.toBe(etag);
  });

  it.each([
    ["If-Match with the tag of another content", { "if-match": '"AAAAAAAAAAAAAAAAAAAAAA"' }],
    ["If-None-Match: *", { "if-none-match": "*" }],
  ])("%s is 412 and changes nothing", async (_, headers) => {
    const response = await put(["three"], headers);
    expect([response.status, response.body.error]).toEqual([412, "precondition_failed"]);
    expect(await values()).toEqual(["one", "two"]);
  });

  it("If-Match with the current tag, and with *, replaces it", async () => {
    const etag = (await admin.call("GET", path)).headers.get("etag")!;
    expect((await put(["three"], { "if-match": etag })).status).toBe(200);
    expect((await put(["four"], { "if-match": "*" })).status).toBe(200);
    expect(await values()).toEqual(["four"]);
  });

  it("of two at the same time with one tag, one is 412: both have read before one is committed", async () => {
    const etag = (await admin.call("GET", path)).headers.get("etag")!;
    const both = await Promise.all(["three", "four"].map((value) => put([value], { "if-match": etag })));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    const won = both.find(({ status }) => status === 200)!;
    expect(await values()).toEqual(won.body[member]);
  });

  it("what does not exist is created with If-None-Match: * by one of two, and not with If-Match", async () => {
    await admin.call("DELETE", path);
    expect((await put(["three"], { "if-match": "*" })).status).toBe(412);
    const both = await Promise.all(["three", "four"].map((value) => put([value], { "if-none-match": "*" })));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
  });
});
