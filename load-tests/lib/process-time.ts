/** **CPU time of processes**, read from /proc: user and system, all threads. Linux only; elsewhere `undefined`. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = Number(spawnSync("getconf", ["CLK_TCK"], { encoding: "utf8" }).stdout?.trim() || "100");

interface ProcessStat {
  readonly name: string;
  readonly parent: number;
  readonly ticks: number;
  /** CPU ticks of its children that have ended and were waited for. */
  readonly childTicks: number;
}

export function readStat(processId: number | "self"): ProcessStat | undefined {
  const text = readIfThere(`/proc/${processId}/stat`);
  if (text === undefined) return undefined;
  // The name may contain spaces and parentheses, so the fields start after its last one.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
  return { name, parent: Number(fields[1]), ticks: user + system, childTicks: childUser + childSystem };
}

/** The text of a /proc file; `undefined` if it does not exist or its process has ended. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

/** The workerd process below a process. */
export function findRuntime(ancestor: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const isBelow = (id: number): boolean => {
    for (let at: number | undefined = id; at !== undefined && at > 1; at = readStat(at)?.parent)
      if (at === ancestor) return true;
    return false;
  };
  const ids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  return ids.map(Number).find((id) => readStat(id)?.name === "workerd" && isBelow(id));
}

export function cpuMicroseconds(processId: number): number {
  return ((readStat(processId)?.ticks ?? 0) / ticksPerSecond) * 1e6;
}

/** Restricts a process to cores, `0` or `0-1`, if `taskset` exists; otherwise returns false. */
export function pin(processId: number, cores: string): boolean {
  return spawnSync("taskset", ["-a", "-cp", cores, String(processId)]).status === 0;
}

/** Pins the server to one core and this process to another; returns false without `taskset`. */
export function pinApart(server: number | undefined): boolean {
  return server !== undefined && pin(server, "0") && pin(process.pid, "1");
}
