import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogLine } from "./runtime-process.ts";
import type { FromIsolate, IsolateSettings, ToIsolate } from "./serve-isolate.ts";

/**
 * **An isolate in a process of its own**, on the objects, database and cache of a local provider. It can be frozen, cut off and killed, as
 * Cloudflare's isolates are, while the provider and its other isolates continue.
 */
export class IsolateProcess {
  /** The origins of its endpoint Workers, by Worker name: `op-token`, `op-management`, `op-userinfo`, `op-auth`. */
  readonly origins: Readonly<Record<string, string>>;
  /** The process id of its workerd. */
  readonly runtimeProcess: number;
  readonly #child: ChildProcess;
  readonly #directory: string;

  private constructor(
    child: ChildProcess,
    runtime: number,
    directory: string,
    origins: Readonly<Record<string, string>>,
  ) {
    this.#child = child;
    this.runtimeProcess = runtime;
    this.#directory = directory;
    this.origins = origins;
  }

  static async start(
    settings: Omit<IsolateSettings, "directory">,
    origins: Readonly<Record<string, string>>,
    onLog: (line: LogLine) => void = () => {},
  ): Promise<IsolateProcess> {
    const child = fork(join(import.meta.dirname, "serve-isolate.ts"), {
      serialization: "advanced",
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    child.on("message", (message: FromIsolate) => {
      if (message.kind === "log") onLog(message.line);
    });
    const directory = mkdtempSync(join(tmpdir(), "edge-op-isolate-"));
    const answer = await ask(child, { kind: "start", settings: { ...settings, directory } });
    if (answer.kind !== "ready") throw new Error("the process of an isolate did not start");
    return new IsolateProcess(child, answer.runtime, directory, origins);
  }

  /** Stops every thread of the runtime; its connections stay open. */
  freeze(): void {
    process.kill(this.runtimeProcess, "SIGSTOP");
  }

  thaw(): void {
    process.kill(this.runtimeProcess, "SIGCONT");
  }

  /** Blocks all traffic between it and the provider's objects, database and cache; requests still reach it. */
  async cutOff(): Promise<void> {
    await ask(this.#child, { kind: "cut" });
  }

  async reconnect(): Promise<void> {
    await ask(this.#child, { kind: "join" });
  }

  /** Ends it immediately, even if it is frozen; it releases nothing. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    // Node is ended first, because Miniflare restarts a runtime that ended.
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
    killRuntime(this.runtimeProcess);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function killRuntime(processId: number): void {
  try {
    process.kill(processId, "SIGKILL");
  } catch (error) {
    // Its watcher has already ended it (workerd-of-parent.sh).
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function ask(child: ChildProcess, message: ToIsolate): Promise<FromIsolate> {
  const controller = new AbortController();
  try {
    const { signal } = controller;
    const ended = once(child, "exit", { signal }).then(() => {
      throw new Error("the process of an isolate ended");
    });
    const answered = new Promise<FromIsolate>((resolve) => {
      const receive = (answer: FromIsolate) => {
        if (answer.kind !== "log") resolve(answer);
      };
      child.on("message", receive);
      signal.addEventListener("abort", () => child.off("message", receive));
    });
    child.send(message);
    return await Promise.race([answered, ended]);
  } finally {
    controller.abort();
  }
}
