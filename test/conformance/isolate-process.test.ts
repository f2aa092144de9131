import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { IsolateProcess } from "../../packages/edge-op/src/isolate-process.ts";
import { AdminApi, basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";

let provider: LocalProvider;
let isolate: IsolateProcess;
let headers: { readonly authorization: string };

beforeAll(async () => {
  provider = await startLocalProvider({ isolateProcesses: true });
  isolate = await provider.startIsolate();
  const client = await new AdminApi(provider.origin, provider.admin).require("POST", "/clients", {
    client_name: "Service",
    grant_types: ["client_credentials"],
    audiences: ["https://api.example.com"],
  });
  headers = {
    authorization: basicAuthorization({
      client_id: String(client.client_id),
      client_secret: String(client.client_secret),
    }),
  };
});
afterAll(() => provider?.stop());

async function newToken(): Promise<string> {
  const response = await postForm(`${provider.origin}/token`, { grant_type: "client_credentials" }, headers);
  return String(response.body.access_token);
}

const introspect = (token: string) => postForm(`${isolate.origins["op-management"]}/introspect`, { token }, headers);

/** Waits until the isolate responds from a lease, without a call. */
async function holdLease(token: string): Promise<void> {
  for (let count = 0; count < 20; count += 1) {
    expect((await introspect(token)).body.active).toBe(true);
    await sleep(20);
  }
}

async function revoke(token: string): Promise<void> {
  expect((await postForm(`${provider.origin}/revoke`, { token }, headers)).status).toBe(200);
}

describe("an isolate in a process of its own", () => {
  it("shares the objects of the provider: a revocation is in force there when it is acknowledged", async () => {
    const token = await newToken();
    await holdLease(token);
    await revoke(token);
    expect((await introspect(token)).body).toEqual({ active: false });
  });

  it("does not respond while it is frozen, and never with a state from before a revocation acknowledged meanwhile", async () => {
    const token = await newToken();
    await holdLease(token);
    isolate.freeze();
    const late = introspect(token);
    const first = await Promise.race([late.then(() => "answered"), revoke(token).then(() => "acknowledged")]);
    expect(first).toBe("acknowledged");
    isolate.thaw();
    expect((await late).body).toEqual({ active: false });
  });

  it("knows nothing while it is cut off from the objects, and the revocations after it is joined again", async () => {
    const token = await newToken();
    await holdLease(token);
    await isolate.cutOff();
    await revoke(token);
    const response = await introspect(token);
    expect(response.status).toBe(503);
    await isolate.reconnect();
    expect((await introspect(token)).body).toEqual({ active: false });
  });

  it("disappears when it is killed; the provider continues", async () => {
    const token = await newToken();
    await isolate.kill();
    await expect(introspect(token)).rejects.toThrow("fetch failed");
    await revoke(token);
  });
});
