/**
 * **An event followed from a request to `/admin/audit`** by the id that the response, the log line and the event share, before and after everything
 * is stopped at once. `audit-log-faults.test.ts` kills the steps in between one by one.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";

let provider: LocalProvider;
let stateDir: string;
const lines: Record<string, unknown>[] = [];

interface Event {
  readonly type: string;
  readonly request_id?: string;
  readonly client_id?: string;
  readonly [name: string]: unknown;
}

beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), "edge-op-audit-"));
  provider = await startLocalProvider({
    stateDir,
    vars: { REQUEST_LOG_PERCENT: "100" },
    onLog: ({ message }) => lines.push(JSON.parse(message) as Record<string, unknown>),
  });
});

afterAll(async () => {
  await provider.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

async function adminHeaders(): Promise<Record<string, string>> {
  const headers = { authorization: basicAuthorization(provider.admin) };
  const { body } = await postForm(`${provider.origin}/token`, { grant_type: "client_credentials" }, headers);
  return { authorization: `Bearer ${String(body["access_token"])}` };
}

async function call(method: string, path: string, body?: unknown) {
  const response = await fetch(`${provider.origin}${path}`, {
    method,
    headers: { ...(await adminHeaders()), "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** The events of a request, once there is one. */
async function eventsOf(requestId: string): Promise<readonly Event[]> {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    const { body } = await call("GET", "/admin/audit?limit=200");
    const events = (body["events"] as readonly Event[]).filter(({ request_id }) => request_id === requestId);
    if (events.length > 0 || performance.now() > deadlineMs) return events;
    await sleep(500);
  }
}

/** The id in the log line of the one request to an endpoint; a successful response has no header with it. A line arrives after its response. */
function requestIdOf(endpoint: string): Promise<string> {
  return vi.waitFor(
    () => String(lines.find((line) => line["event"] === "request" && line["endpoint"] === endpoint)!["requestId"]),
    { timeout: 30_000 },
  );
}

async function revokeToken(): Promise<void> {
  const headers = { authorization: basicAuthorization(provider.admin) };
  const { body } = await postForm(`${provider.origin}/token`, { grant_type: "client_credentials" }, headers);
  const { status } = await postForm(`${provider.origin}/revoke`, { token: String(body["access_token"]) }, headers);
  expect(status).toBe(200);
}

describe("an event is followed from the request to /admin/audit", () => {
  test("a change and a revocation: one event each, with the id of the log line, in a chain that verifies", async () => {
    const client = { client_name: "Followed", grant_types: ["client_credentials"] };
    const { status } = await call("POST", "/admin/clients", client);
    expect(status).toBe(201);
    const change = await requestIdOf("/admin/clients");
    await revokeToken();
    const revocation = await requestIdOf("/revoke");
    expect(await eventsOf(change)).toMatchObject([{ type: "client.create", actor: "admin" }]);
    expect(await eventsOf(revocation)).toMatchObject([{ type: "token.revoked", client_id: "admin" }]);
    const { body } = await call("GET", "/admin/audit/verification");
    expect(body).toMatchObject({ valid: true, gaps: [] });
    await provider.restart();
    expect((await eventsOf(change)).length).toBe(1);
    expect((await eventsOf(revocation)).length).toBe(1);
    const { body: again } = await call("GET", "/admin/audit/verification");
    expect(again).toMatchObject({ valid: true, gaps: [] });
  });
});
