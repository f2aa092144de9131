import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir, userInfo } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface HostProgram {
  /** Identifies the package and its version: others have their own host. */
  readonly key: string;
  /** The arguments of `node`. */
  readonly argv: readonly string[];
}

const startMs = 60_000;
const retryMs = 25;

function folder(): string {
  const { uid, username } = userInfo();
  const path = join(tmpdir(), `edge-op-${uid < 0 ? username : uid}`);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (process.platform !== "win32" && (statSync(path).uid !== uid || (statSync(path).mode & 0o077) !== 0)) {
    throw new Error(`${path} is not this user's alone. Remove it, or set TMPDIR.`);
  }
  return path;
}

function socketPath(key: string): string {
  return process.platform === "win32"
    ? `\\\\.\\pipe\\edge-op-${userInfo().username}-${key}`
    : join(folder(), `${key}.sock`);
}

/**
 * **The connection to the process that hosts every test provider of this machine's user**, which all test processes share: Vitest, Jest and
 * Playwright run each file in a separate process. The first process starts the host, which ends when no process has been connected for some seconds.
 * It listens on a Unix socket (on Windows a named pipe) that only its user can open.
 */
export class HostConnection {
  readonly #path: string;
  /** Everything created under this id ends with this connection. */
  readonly #id = randomUUID();

  private constructor(path: string) {
    this.#path = path;
  }

  static async open(program: HostProgram): Promise<HostConnection> {
    const connection = new HostConnection(socketPath(program.key));
    if (!(await connection.#hold())) await connection.#start(program);
    return connection;
  }

  /** Throws an error with the text of the host's refusal. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const { status, text } = await this.#send(method, path, body);
    const value: unknown = text === "" ? undefined : JSON.parse(text);
    if (status >= 300) throw new Error((value as { readonly error: string }).error);
    return value;
  }

  #send(method: string, path: string, body: unknown): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise((resolve, reject) => {
      const sent = request(
        { socketPath: this.#path, method, path, headers: { holder: this.#id }, agent: false },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
          response.on("error", reject);
        },
      );
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Keeps the host running as long as this process does, by a request without an end. Returns false if there is no host. */
  #hold(): Promise<boolean> {
    return new Promise((resolve) => {
      const held = request(
        { socketPath: this.#path, path: "/hold", headers: { holder: this.#id }, agent: false },
        (response) => {
          response.on("error", () => held.destroy()).resume();
          response.socket.unref();
          resolve(true);
        },
      );
      held.on("error", () => resolve(false));
      held.end();
    });
  }

  /** One of the processes that try starts it; the others wait. */
  async #start({ argv }: HostProgram): Promise<void> {
    const lock = beside(this.#path, "lock");
    const log = beside(this.#path, "log");
    const giveUpAtMs = Date.now() + startMs;
    let child: ChildProcess | undefined;
    try {
      while (!(await this.#hold())) {
        if (child === undefined && takeLock(lock)) child = startProcess([...argv, this.#path], log);
        const hasEnded = child !== undefined && child.exitCode !== null;
        if (hasEnded || Date.now() > giveUpAtMs) {
          throw new Error(`the host of test providers did not start: ${readFileSync(log, "utf8")}`);
        }
        await sleep(retryMs);
      }
    } finally {
      if (child !== undefined) rmSync(lock, { force: true });
    }
  }
}

function startProcess(argv: readonly string[], log: string): ChildProcess {
  const output = openSync(log, "w", 0o600);
  const child = spawn(process.execPath, argv, { detached: true, stdio: ["ignore", output, output] });
  closeSync(output);
  child.unref();
  return child;
}

/** A file of this user with the socket's name. */
function beside(path: string, extension: string): string {
  return join(folder(), `${basename(path.replaceAll("\\", "/"), ".sock")}.${extension}`);
}

function takeLock(path: string): boolean {
  if (isLocked(path)) return false;
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** The lock of a process that has ended is removed. */
function isLocked(path: string): boolean {
  try {
    process.kill(Number(readFileSync(path, "utf8")), 0);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EPERM") return true;
    if (code === "ESRCH") rmSync(path, { force: true });
    return false;
  }
}
