import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** **CPU time of the runtime process**, read from /proc: user and system, all threads. Linux only; elsewhere `undefined`. */
const ticksPerSecond = Number(spawnSync("getconf", ["CLK_TCK"], { encoding: "utf8" }).stdout?.trim() || "100");

interface ProcessStat {
  readonly name: string;
  readonly parent: number;
  readonly ticks: number;
}

function readStat(processId: number): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${processId}/stat`, "utf8");
    // The name may hold spaces and parentheses: the fields follow its last one.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
    return { name, parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
  } catch (cause) {
    // A process that ended meanwhile, or no /proc at all.
    if ((cause as NodeJS.ErrnoException).code === "ENOENT" || (cause as NodeJS.ErrnoException).code === "ESRCH")
      return undefined;
    throw cause;
  }
}

/** The workerd below a process. */
export function findRuntime(ancestor: number): number | undefined {
  let ids: number[];
  try {
    ids = readdirSync("/proc")
      .filter((entry) => /^\d+$/.test(entry))
      .map(Number);
  } catch {
    return undefined;
  }
  const isBelow = (id: number): boolean => {
    for (let at: number | undefined = id; at !== undefined && at > 1; at = readStat(at)?.parent)
      if (at === ancestor) return true;
    return false;
  };
  return ids.find((id) => readStat(id)?.name === "workerd" && isBelow(id));
}

export function cpuMicroseconds(processId: number): number {
  return ((readStat(processId)?.ticks ?? 0) / ticksPerSecond) * 1e6;
}

/** Restricts a process to cores, `0` or `0-1`, where `taskset` exists; otherwise false. */
export function pin(processId: number, cores: string): boolean {
  return spawnSync("taskset", ["-a", "-cp", cores, String(processId)]).status === 0;
}
