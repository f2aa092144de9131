import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface StartedProcess<Said> {
  readonly said: Said;
  readonly processId: number;
  stop(): Promise<void>;
}

/** **Starts a server as a separate process**, which prints its address as one line of JSON and ends when its input ends. */
export async function startProcess<Said>(script: string, options: unknown = {}): Promise<StartedProcess<Said>> {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const stop = async () => {
    if (child.exitCode !== null) return;
    child.stdin.end();
    await once(child, "exit");
  };
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith("{")) return { said: JSON.parse(line) as Said, processId: child.pid!, stop };
  }
  throw new Error(`${script} ended before it listened`);
}
