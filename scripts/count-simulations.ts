import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../packages/local-provider/src/workers.ts";
import {
  ControlSimulation,
  mutants as controlMutants,
} from "../packages/op-state/test/simulation/control-simulation.ts";
import { Simulation } from "../packages/op-state/test/simulation/lease-simulation.ts";
import * as lease from "../packages/op-state/test/simulation/lease-wiring.ts";
import {
  isCostly,
  type RelayCircumstances,
  type RelayRun,
  RelaySimulation,
} from "../packages/op-state/test/simulation/relay-simulation.ts";
import * as relay from "../packages/op-state/test/simulation/relay-wiring.ts";
import { CutOffSimulation, cutOffMutants } from "../packages/shared/test/control/cut-off-simulation.ts";
import { countsPath, type SimulationCounts } from "./reference/simulations-page.ts";

/**
 * **`node scripts/count-simulations.ts`**: what the simulations of leases are made of, and in how many runs each mutant is
 * caught, for `docs/reference/simulations.md`. The seeds are fixed. A few minutes; afterwards `npm run check -- --write`.
 */
const firstSeed = 1;
const runs = 1_000;
const mutantRuns = 200;
/** A mutant that is rarely caught is run until it was caught so often, or for so many runs. */
const fewest = 5;
const mostRuns = 3_000;

type Counts = Record<string, number>;
interface Ran {
  readonly violations: readonly string[];
  readonly counts: Readonly<Counts>;
}

async function total(run: (seed: number) => Promise<Ran>, clean = true): Promise<{ runs: number; counts: Counts }> {
  const counts: Counts = {};
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const ran = await run(seed);
    if (clean && ran.violations.length > 0) throw new Error(`seed ${seed}: ${ran.violations.join("; ")}`);
    for (const [name, count] of Object.entries(ran.counts)) counts[name] = (counts[name] ?? 0) + count;
  }
  return { runs, counts };
}

const caught: Record<string, { readonly caught: number; readonly runs: number }> = {};

async function count(
  names: readonly string[],
  isCaught: (name: string, seed: number) => Promise<boolean>,
  kind: string,
) {
  for (const name of names) {
    let found = 0;
    let made = 0;
    while (made < mutantRuns || (found < fewest && made < mostRuns)) {
      if (await isCaught(name, firstSeed + made)) found += 1;
      made += 1;
    }
    caught[`${kind}: ${name}`] = { caught: found, runs: made };
    console.log(kind, name, found);
  }
}

async function runLease(seed: number, wiring: lease.Wiring): Promise<Ran> {
  const { violations, acknowledgementsMs: _, ...counts } = new Simulation(seed, wiring).run();
  return { violations, counts };
}

function runRelay(seed: number, wiring: relay.RelayWiring, circumstances?: RelayCircumstances): Promise<RelayRun> {
  return new RelaySimulation(seed, wiring, circumstances).run();
}

const isI1 = (violation: string) => violation.startsWith("I1");
const isI2 = (violation: string) => violation.startsWith("I2");
const isL1 = (violation: string) => violation.startsWith("L1");

function countLease(mutants: Readonly<Record<string, lease.Wiring>>, is: (violation: string) => boolean, kind: string) {
  return count(
    Object.keys(mutants),
    async (name, seed) => (await runLease(seed, mutants[name]!)).violations.some(is),
    kind,
  );
}

function countRelay(
  mutants: Readonly<Record<string, relay.RelayWiring>>,
  is: (violation: string) => boolean,
  kind: string,
  circumstances?: RelayCircumstances,
) {
  return count(
    Object.keys(mutants),
    async (name, seed) => (await runRelay(seed, mutants[name]!, circumstances)).violations.some(is),
    kind,
  );
}

const simulations = {
  "one shard": await total((seed) => runLease(seed, lease.protocol)),
  "one shard, filters": await total((seed) => runLease(seed, lease.filterProtocol)),
  relays: await total((seed) => runRelay(seed, relay.relayProtocol)),
};
await countLease(lease.mutants, isI1, "the simulation catches %s");
await countLease(lease.filterMutants, isI1, "the simulation catches %s");
await countLease(lease.leaseEndMutants, isI2, "I2: the simulation sees a lease that outlives the shard's, by %s");
await countRelay(relay.relayMutants, (violation) => !isI2(violation), "the simulation of relays catches %s");
await countRelay(relay.clockMutants, isI1, "the simulation of relays sees what breaks by %s");
const steady = { modes: { clocks: false } };
await countRelay(
  relay.relayLeaseEndMutants,
  isI2,
  "I2: the simulation sees a lease that outlives its server's, by %s",
  steady,
);
await countRelay(relay.waitingMutants, isL1, "L1: the simulation of relays catches %s", relay.coldStart);
await count(
  Object.keys(relay.costlyMutants),
  async (name, seed) => isCostly(await runRelay(seed, relay.costlyMutants[name]!, relay.quiet)),
  "C1: the simulation of relays catches %s",
);
await count(
  Object.keys(controlMutants),
  async (name, seed) => new ControlSimulation(seed, controlMutants[name]!).run().violations.length > 0,
  "the simulation of the control plane catches %s",
);
await count(
  Object.keys(cutOffMutants),
  async (name, seed) => {
    const [mutation, expected] = cutOffMutants[name]!;
    return (await new CutOffSimulation(seed, mutation).run()).some((text) => text.includes(expected));
  },
  "%s: caught",
);
const counts: SimulationCounts = { simulations, caught };
writeFileSync(join(repositoryRoot, countsPath), `${JSON.stringify(counts, null, 2)}\n`);
