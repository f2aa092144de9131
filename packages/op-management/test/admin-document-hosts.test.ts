import { mostDocumentHosts } from "@edge-op/shared/clients/document-policy";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

const path = "/client-document-hosts";
const put = (host: string, policy: unknown) => admin.call("PUT", `${path}/${host}`, { body: { policy } });
const listed = async () => (await admin.call("GET", path)).body["hosts"];

describe("/admin/client-document-hosts", () => {
  it("a policy is set, shown, replaced and deleted; each change is a control change and is audited", async () => {
    expect(await listed()).toEqual([]);
    const created = await put("agent.example.com", "ask");
    expect([created.status, created.body]).toEqual([200, { host: "agent.example.com", policy: "ask" }]);
    expect((await put("*.example.net", "deny")).status).toBe(200);
    expect((await put("agent.example.com", "allow")).status).toBe(200);
    expect((await admin.call("GET", `${path}/agent.example.com`)).body).toEqual({
      host: "agent.example.com",
      policy: "allow",
    });
    expect(await listed()).toEqual([
      { host: "*.example.net", policy: "deny" },
      { host: "agent.example.com", policy: "allow" },
    ]);
    const { body: first } = await admin.call("GET", `${path}?limit=1`);
    expect(first["hosts"]).toEqual([{ host: "*.example.net", policy: "deny" }]);
    const { body: second } = await admin.call("GET", `${path}?limit=1&cursor=${first["next_cursor"]}`);
    expect(second).toEqual({ hosts: [{ host: "agent.example.com", policy: "allow" }] });
    expect((await admin.call("DELETE", `${path}/agent.example.com`)).status).toBe(204);
    for (const method of ["GET", "DELETE"]) {
      expect((await admin.call(method, `${path}/agent.example.com`)).status, method).toBe(404);
    }
    const { results } = await bindings.DB.prepare("SELECT action, target, detail FROM admin_events ORDER BY seq").all();
    expect(results).toEqual([
      { action: "document-host.update", target: "agent.example.com", detail: '{"policy":"ask"}' },
      { action: "document-host.update", target: "*.example.net", detail: '{"policy":"deny"}' },
      { action: "document-host.update", target: "agent.example.com", detail: '{"policy":"allow","before":"ask"}' },
      { action: "document-host.delete", target: "agent.example.com", detail: '{"before":"allow"}' },
    ]);
    const changes = await bindings.DB.prepare("SELECT id FROM control_changes WHERE kind = 'document-hosts'").all();
    expect(changes.results).toEqual(Array.from({ length: 4 }, () => ({ id: "*" })));
  });

  it.each(["*", "localhost", "127.0.0.1", "[::1]", "xn--bcher-kva.example", "*.a.example"])(
    "%s is a host",
    async (host) => {
      expect((await put(encodeURIComponent(host), "deny")).status).toBe(200);
      expect((await admin.call("GET", `${path}/${encodeURIComponent(host)}`)).body["host"]).toBe(host);
    },
  );

  it.each([
    "Agent.example.com",
    "agent.example.com.",
    "*.example.com.",
    "b\u00fccher.example",
    "agent.example.com:443",
    "https://agent.example.com",
    "agent.example.com/x",
    "user@agent.example.com",
    "*example.com",
    "a.*.example.com",
    "*.",
    "*.10.0.0.1",
    "0x7f.1",
    " ",
    "a b",
    `${"a".repeat(254)}.example`,
  ])("%s is not a host: 400, and nothing is stored", async (host) => {
    const { status, body } = await put(encodeURIComponent(host), "deny");
    expect([status, body.fields?.[0]?.path]).toEqual([400, "host"]);
    expect(await listed()).toEqual([]);
  });

  it.each([["refuse"], [undefined], [1]])("the policy %j is refused", async (policy) => {
    expect((await put("agent.example.com", policy)).body.fields?.[0]?.path).toBe("policy");
  });

  it("requires admin:clients", async () => {
    const token = await admin.issueToken({ scope: ["admin:users"] });
    expect((await admin.call("GET", path, { token })).status).toBe(403);
    expect((await admin.call("PUT", `${path}/a.example`, { body: { policy: "allow" }, token })).status).toBe(403);
    expect((await admin.call("DELETE", `${path}/a.example`, { token })).status).toBe(403);
  });

  it("hosts are limited: one more is a conflict, but existing ones can be changed", async () => {
    const insert = bindings.DB.prepare(
      "INSERT INTO document_hosts (host, policy, updated_at_ms) VALUES (?1, 'allow', 0)",
    );
    await bindings.DB.batch(Array.from({ length: mostDocumentHosts }, (_, index) => insert.bind(`h${index}.example`)));
    const beyond = await put("more.example", "allow");
    expect([beyond.status, beyond.body.error]).toEqual([409, "conflict"]);
    expect((await put("h7.example", "deny")).status).toBe(200);
    expect((await admin.call("DELETE", `${path}/h7.example`)).status).toBe(204);
    expect((await put("more.example", "allow")).status).toBe(200);
  });
});
