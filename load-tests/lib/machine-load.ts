import { loadavg } from "node:os";
import { readIfThere, readStat } from "./process-time.ts";

/** The processor use of the generator's machine during a run: shares of all cores, 0 to 1. */
export interface MachineLoad {
  /** The load average of the minute before the run. */
  readonly loadAverageBefore: number;
  readonly busy: number;
  readonly generator: number;
  /** Present if the provider's process is on this machine and known. */
  readonly provider?: number;
}

interface Sample {
  readonly busyTicks: number;
  readonly totalTicks: number;
  /** Ticks of this process and of its children that have ended, such as k6. */
  readonly generatorTicks: number;
  readonly providerTicks: number | undefined;
}

/**
 * **The processor shares during a run**: the machine, the generator, and the provider if its process is known. Call the returned function when the
 * run has ended. Linux only. Elsewhere, the result is `undefined` and the cause of a failed run is unknown.
 */
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
  const own = readStat("self");
  if (machine === undefined || own === undefined) return undefined;
  // user nice system idle iowait irq softirq steal; later fields are already counted in these.
  const ticks = machine.split("\n")[0]!.trim().split(/\s+/).slice(1, 9).map(Number);
  const totalTicks = ticks.reduce((sum, each) => sum + each, 0);
  const [idle = 0, ioWait = 0] = ticks.slice(3);
  return {
    busyTicks: totalTicks - idle - ioWait,
    totalTicks,
    generatorTicks: own.ticks + own.childTicks,
    providerTicks: providerProcess === undefined ? undefined : readStat(providerProcess)?.ticks,
  };
}
