/**
 * **`node scripts/count-simulations.ts`**: counts the faults in the simulations of leases and the runs in which each mutant is caught, for
 * `test/simulation/README.md`. The seeds are fixed. It takes a few minutes; run `npm run check -- --write` afterwards.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";
import "./install-simulated-platform.ts";
import {
  ControlSimulation,
  mutants as controlMutants,
} from "../packages/op-state/test/simulation/control-simulation.ts";
import { CutOffSimulation, cutOffMutants } from "../packages/shared/test/control/cut-off-simulation.ts";
import type { Mutant } from "../test/simulation/mutants.ts";
import type { Circumstances } from "../test/simulation/simulation.ts";
import { countsPath, type SimulationCounts } from "./reference/simulations-page.ts";

const runs = 100;
const mutantRuns = 10;
/** A mutant that is rarely caught is run until it was caught, or for so many runs. */
const mostRuns = 250;

const { Simulation } = await import("../test/simulation/simulation.ts");
const { clockMutants, coldStart, mutants, waitingMutants } = await import("../test/simulation/mutants.ts");

const total: Record<string, number> = {};
for (let seed = 1; seed <= runs; seed += 1) {
  const { violations, counts } = await new Simulation(seed).run();
  if (violations.length > 0) throw new Error(`seed ${seed}: ${violations.join("; ")}`);
  for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
}

const caught: Record<string, { readonly caught: number; readonly runs: number }> = {};

async function count(test: string, mutant: string, isCaught: (seed: number) => Promise<boolean>): Promise<void> {
  let found = 0;
  let made = 0;
  let first = 0;
  while (made < mutantRuns || (found === 0 && made < mostRuns)) {
    made += 1;
    if (!(await isCaught(made))) continue;
    found += 1;
    first ||= made;
  }
  caught[`${test}: ${mutant}`] = { caught: found, runs: made };
  console.log(`${mutant}: ${found} of ${made}, at first with the seed ${first}`);
}

async function isViolated(seed: number, circumstances?: Circumstances): Promise<boolean> {
  return (await new Simulation(seed, circumstances).run()).violations.length > 0;
}

async function countMutants(test: string, all: Readonly<Record<string, Mutant>>, circumstances?: Circumstances) {
  for (const [name, mutant] of Object.entries(all)) {
    const restore = mutant.apply();
    await count(test, name, (seed) => isViolated(seed, circumstances ?? mutant.in));
    restore();
  }
}

await countMutants("the simulation catches %s", mutants);
for (const [name, mutant] of Object.entries(clockMutants)) {
  await count("the simulation sees what breaks by %s", name, (seed) => isViolated(seed, mutant.in));
}
await countMutants("L1: the simulation catches %s", waitingMutants, coldStart);
for (const [name, mutation] of Object.entries(controlMutants)) {
  await count(
    "the simulation of the control plane catches %s",
    name,
    async (seed) => new ControlSimulation(seed, mutation).run().violations.length > 0,
  );
}
for (const [name, [mutation, expected]] of Object.entries(cutOffMutants)) {
  await count("%s: caught", name, async (seed) =>
    (await new CutOffSimulation(seed, mutation).run()).some((text) => text.includes(expected)),
  );
}
const counts: SimulationCounts = { runs, counts: total, caught };
writeFileSync(join(repositoryRoot, countsPath), `${JSON.stringify(counts, null, 2)}\n`);
