import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import type { MachineLoad } from "../report/run-record.ts";

/**
 * **The processor shares during a run**, of all cores, read from /proc on Linux: the machine, the generator, and the provider if
 * its process is known. Elsewhere `undefined`: the cause of a failed run is then unknown.
 */
interface Sample {
  readonly busyTicks: number;
  readonly totalTicks: number;
  /** Of this process and of its children that have ended: k6 is one. */
  readonly generatorTicks: number;
  readonly providerTicks: number | undefined;
}

/** Starts to measure; call the returned function when the run has ended. */
export function measureMachineLoad(providerProcess: number | undefined): () => MachineLoad | undefined {
  const [loadAverage = 0] = loadavg();
  const before = takeSample(providerProcess);
  return () => {
    const after = takeSample(providerProcess);
    if (before === undefined || after === undefined) return undefined;
    const total = Math.max(1, after.totalTicks - before.totalTicks);
    const share = (from: number, to: number) => Math.min(1, Math.max(0, (to - from) / total));
    const isProviderKnown = before.providerTicks !== undefined && after.providerTicks !== undefined;
    return {
      loadAverageBefore: loadAverage,
      busy: share(before.busyTicks, after.busyTicks),
      generator: share(before.generatorTicks, after.generatorTicks),
      ...(isProviderKnown ? { provider: share(before.providerTicks, after.providerTicks) } : {}),
    };
  };
}

function takeSample(providerProcess: number | undefined): Sample | undefined {
  const machine = readIfThere("/proc/stat");
  const own = readIfThere("/proc/self/stat");
  if (machine === undefined || own === undefined) return undefined;
  // user nice system idle iowait irq softirq steal; the fields after them are counted in these already.
  const ticks = machine.split("\n")[0]!.trim().split(/\s+/).slice(1, 9).map(Number);
  const totalTicks = ticks.reduce((sum, each) => sum + each, 0);
  const [idle = 0, ioWait = 0] = ticks.slice(3);
  const provider = providerProcess === undefined ? undefined : readIfThere(`/proc/${providerProcess}/stat`);
  return {
    busyTicks: totalTicks - idle - ioWait,
    totalTicks,
    generatorTicks: ticksOf(own, 4),
    providerTicks: provider === undefined ? undefined : ticksOf(provider, 2),
  };
}

/** utime and stime, and with four fields those of children that were waited for. */
function ticksOf(stat: string, fields: 2 | 4): number {
  // The name may hold spaces and parentheses: the fields follow its last one.
  const after = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return after.slice(11, 11 + fields).reduce((sum, each) => sum + Number(each), 0);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // No /proc, or a process that has ended.
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}
