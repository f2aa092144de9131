/** **Allows one process per state directory**: two runtimes on the same SQLite files would corrupt them. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class StateInUseError extends Error {
  override readonly name = "StateInUseError";
}

/** Locks the directory; the result unlocks it. The lock of a process that has ended is ignored. */
export function lockState(stateDir: string): () => void {
  const path = join(stateDir, "process.pid");
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
      const owner = Number(readFileSync(path, "utf8"));
      if (owner !== process.pid && isRunning(owner)) {
        throw new StateInUseError(`Process ${owner} is running on ${stateDir}.`);
      }
      rmSync(path, { force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
