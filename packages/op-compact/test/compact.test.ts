import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { basicHeader, call, postForm } from "../../../test/fixtures/call.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import worker, { TokenValidation } from "../src/index.ts";
import type { CompactEnv } from "../src/worker.ts";
import { createWorker } from "../src/worker.ts";

const bindings = env as unknown as CompactEnv;

it.each([
  ["POST", "/token", 401],
  ["POST", "/introspect", 401],
  ["POST", "/revoke", 401],
  ["GET", "/userinfo", 401],
  ["GET", "/authorize", 400],
  ["POST", "/par", 401],
  ["GET", "/admin/clients", 401],
  ["GET", "/logout", 200],
  ["GET", "/jwks", 200],
  ["GET", "/health", 200],
  ["GET", "/.well-known/openid-configuration", 200],
  ["GET", "/nothing", 404],
  ["GET", "/token/", 404],
])("%s %s is decided by the app that owns the path: %i", async (method, path, status) => {
  const form = { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "" };
  const response = await call(worker, bindings, path, { method, ...(method === "POST" ? form : {}) });
  expect(response.status).toBe(status);
});

/** The D1 and KV reads that a response reports. */
function readsOf(response: Response): string {
  return [...(response.headers.get("Server-Timing") ?? "").matchAll(/(?:kv|d1);dur=\d+/g)].join(", ");
}

it("the apps share one memory: records and tokens that one has read or verified cost the others nothing", async () => {
  const app = createWorker();
  const counting = { ...bindings, SERVER_TIMING: "true" };
  const { clientId, clientSecret } = await seedClient(bindings, "service", { introspection: { clients: ["*"] } });
  const basic = { clientId, clientSecret };
  const issued = await postForm(app, counting, "/token", { grant_type: "client_credentials" }, basic);
  expect(readsOf(issued)).not.toBe("kv;dur=0, d1;dur=0");
  const { access_token: token } = await issued.json<{ access_token: string }>();
  const introspected = await postForm(app, counting, "/introspect", { token }, basic);
  expect(await introspected.json()).toMatchObject({ active: true });
  const pushed = await call(app, counting, "/par", {
    method: "POST",
    headers: {
      authorization: basicHeader(clientId, clientSecret),
      "content-type": "application/x-www-form-urlencoded",
    },
    body: "response_type=code",
  });
  const read = await call(app, counting, "/userinfo", { headers: { authorization: `Bearer ${token}` } });
  expect([introspected, pushed, read].map(readsOf)).toEqual(Array(3).fill("kv;dur=0, d1;dur=0"));
});

it("ADR 49: it has the entrypoint for resource servers", async () => {
  const basic = await seedClient(bindings, "service", { audiences: ["https://api.example.com"] });
  const issued = await postForm(worker, bindings, "/token", { grant_type: "client_credentials" }, basic);
  const { access_token: token } = await issued.json<{ access_token: string }>();
  const entrypoint = new TokenValidation(createExecutionContext(), bindings);
  expect(await entrypoint.validateToken("https://api.example.com", token)).toMatchObject({ clientId: "service" });
  expect(await entrypoint.validateToken("https://other.example.com", token)).toBeNull();
});
