import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { isPortFree } from "../../packages/edge-op/src/free-port.ts";
import { startLocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { claimsOf } from "./fixtures/provider-fixtures.ts";

let child: ChildProcess | undefined;
afterEach(() => child?.kill("SIGKILL"));

/** Starts the provider in a separate process; returns its address. */
async function startInProcess(): Promise<URL> {
  const script = join(repositoryRoot, "load-tests/lib/serve-provider.ts");
  const started = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child = started;
  for await (const line of createInterface(started.stdout)) {
    if (line.startsWith("{")) return new URL((JSON.parse(line) as { readonly origin: string }).origin);
  }
  throw new Error("the provider ended before it listened");
}

describe("the local provider", () => {
  it("SIGKILL of Node leaves no workerd on the port: the next start can listen there", async () => {
    const { origin, port } = await startInProcess();
    expect((await fetch(`${origin}/health`)).status).toBe(200);
    child!.kill("SIGKILL");
    await once(child!, "exit");
    const giveUpAtMs = Date.now() + 10_000;
    let isFree = false;
    while (!isFree && Date.now() < giveUpAtMs) {
      await sleep(100);
      isFree = await isPortFree("127.0.0.1", Number(port));
    }
    expect(isFree).toBe(true);
  });

  it("a second region at a distance: the grants of its Workers are in its shards, and known in the first one", async () => {
    const distances = { object: 2, kv: 2, d1: 2, far: 20 };
    const provider = await startLocalProvider({ direct: true, extraIsolates: 1, distances });
    try {
      const authorization = basicAuthorization(provider.admin);
      const tokenAt = async (worker: string) => {
        const url = `${provider.direct[worker]}/token`;
        const { body } = await postForm(url, { grant_type: "client_credentials" }, { authorization });
        return String(body["access_token"]);
      };
      const tokens = [await tokenAt("op-token"), await tokenAt("op-token#2")];
      expect(tokens.map((token) => String(claimsOf(token)["jti"]).split(":")[1])).toEqual(["wnam", "apac"]);
      for (const [token, worker] of [
        [tokens[1]!, "op-management"],
        [tokens[0]!, "op-management#2"],
      ] as const) {
        const url = `${provider.direct[worker]}/admin/deployment`;
        expect((await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
      }
    } finally {
      await provider.stop();
    }
  });
});
