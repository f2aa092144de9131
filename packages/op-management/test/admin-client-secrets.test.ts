import { nowMs } from "@edge-op/shared/runtime/clock";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, isLiveSecret, issuer } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

const web = { redirect_uris: ["https://app.example/cb"] };

async function create(body: Record<string, unknown> = web) {
  const response = await admin.call("POST", "/clients", { body });
  expect(response.status).toBe(201);
  return response;
}

describe("/admin/clients/{client_id}/secrets", () => {
  it("admin API: a rotation with overlap keeps the old secret valid until its end", async () => {
    const { body } = await create();
    const path = `/clients/${body.client_id}/secrets`;
    const rotated = await admin.call("POST", path, { body: { overlap_seconds: 60 } });
    expect(rotated.status).toBe(201);
    expect(rotated.headers.get("location")).toBe(`${issuer}/admin${path}/${rotated.body.secret_id}`);
    const atMs = nowMs();
    expect(await isLiveSecret(body.client_id, body.client_secret, atMs + 55_000)).toBe(true);
    expect(await isLiveSecret(body.client_id, body.client_secret, atMs + 61_000)).toBe(false);
    expect(await isLiveSecret(body.client_id, rotated.body.client_secret, atMs + 61_000)).toBe(true);

    const { body: list } = await admin.call("GET", path);
    expect(list.secrets.map((secret: object) => Object.keys(secret).sort())).toEqual([
      ["client_secret_expires_at", "created_at", "secret_id"],
      ["client_secret_expires_at", "created_at", "secret_id"],
    ]);
  });

  it("admin API: a rotation without overlap ends the old secret at once", async () => {
    const { body } = await create();
    const rotated = await admin.call("POST", `/clients/${body.client_id}/secrets`, { body: {} });
    expect(await isLiveSecret(body.client_id, body.client_secret)).toBe(false);
    expect(await isLiveSecret(body.client_id, rotated.body.client_secret)).toBe(true);
  });

  it("admin API: a second rotation does not extend an overlap", async () => {
    const { body } = await create();
    const path = `/clients/${body.client_id}/secrets`;
    await admin.call("POST", path, { body: { overlap_seconds: 60 } });
    await admin.call("POST", path, { body: { overlap_seconds: 3600 } });
    expect(await isLiveSecret(body.client_id, body.client_secret, nowMs() + 61_000)).toBe(false);
  });

  it("admin API: one secret can be ended", async () => {
    const { body } = await create();
    const path = `/clients/${body.client_id}/secrets`;
    const { body: second } = await admin.call("POST", path, { body: { overlap_seconds: 60 } });
    expect((await admin.call("DELETE", `${path}/${second.secret_id}`)).status).toBe(204);
    expect(await isLiveSecret(body.client_id, second.client_secret)).toBe(false);
    expect(await isLiveSecret(body.client_id, body.client_secret)).toBe(true);
    expect((await admin.call("DELETE", `${path}/${second.secret_id}`)).status).toBe(404);
  });

  it("admin API: concurrent rotations leave a client with at most five live secrets", async () => {
    const { body } = await create();
    const path = `/clients/${body.client_id}/secrets`;
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => admin.call("POST", path, { body: { overlap_seconds: 60 } })),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(4).fill(201), ...Array(6).fill(409)]);
    expect((await admin.call("GET", path)).body).toMatchObject({ secrets: Array(5).fill({}) });
  });

  it("admin API: a client has at most five live secrets", async () => {
    const { body } = await create();
    const path = `/clients/${body.client_id}/secrets`;
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      statuses.push((await admin.call("POST", path, { body: { overlap_seconds: 60 } })).status);
    }
    expect(statuses).toEqual([201, 201, 201, 201, 409]);
    expect((await admin.call("POST", path, { body: {} })).status).toBe(201);
  });

  it("admin API: a client without secrets cannot rotate one", async () => {
    const { body } = await create({ ...web, token_endpoint_auth_method: "none" });
    const response = await admin.call("POST", `/clients/${body.client_id}/secrets`, { body: {} });
    expect([response.status, response.body.error_description]).toEqual([
      400,
      "A client with token_endpoint_auth_method none has no secret.",
    ]);
  });
});
