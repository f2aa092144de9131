import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { isPortFree } from "../../packages/edge-op/src/free-port.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";

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
});
