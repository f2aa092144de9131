import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Deployment } from "../seed/provision.ts";
import { loadTestsRoot } from "./find-k6.ts";

/** **Starts a local provider as a process of its own** and says where it listens; HTTP is all that is shared with it. */
export interface StartedProvider extends Deployment {
  /** Origins of the endpoint Workers' own sockets, when asked for. */
  readonly direct: Readonly<Record<string, string>>;
  readonly processId: number;
  stop(): Promise<void>;
}

export interface ProviderOptions {
  readonly port?: number;
  readonly vars?: Readonly<Record<string, string>>;
  readonly direct?: boolean;
  /** Other entry points in Workers' places, by Worker name: the bench's floor. */
  readonly entryPoints?: Readonly<Record<string, string>>;
}

/** `checkout`: the root of another checkout whose provider it is to be. */
export async function startProvider(options: ProviderOptions, checkout?: string): Promise<StartedProvider> {
  const script = join(checkout ?? join(loadTestsRoot, ".."), "load-tests/lib/serve-provider.ts");
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const stop = async () => {
    if (child.exitCode !== null) return;
    child.stdin.end();
    await once(child, "exit");
  };
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith("{")) continue;
    const { origin, issuer, admin, direct } = JSON.parse(line) as Deployment & Pick<StartedProvider, "direct">;
    return { origin, issuer, admin, direct, processId: child.pid!, stop };
  }
  throw new Error("the local provider ended before it listened");
}
