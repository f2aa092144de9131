import { afterAll, expect, it, onTestFinished } from "vitest";
import {
  clockMutants,
  coldStart,
  costlyMutants,
  type Mutant,
  mutants,
  quiet,
  signing,
  slowDecisions,
  steadyNews,
  waitingMutants,
} from "./mutants.ts";
import { installPlatform } from "./platform.ts";
import { runCount } from "./run-count.ts";
import { type Circumstances, type Run, Simulation } from "./simulation.ts";

/**
 * `SIMULATION_SEED=4711 npm test -- test/simulation` replays one run; `SIMULATION_RUNS=20000` makes that many. Both print the counters of the runs.
 */
const { SIMULATION_SEED: replayed, SIMULATION_RUNS: requested } = process.env;
const firstSeed = Number(replayed ?? Math.floor(Math.random() * 2 ** 31));
const runs = replayed === undefined ? Number(requested ?? runCount(24, 80)) : 1;
const mutantRuns = 400;
const timeout = 900_000 + 500 * runs;

afterAll(installPlatform());

/** The counters of all runs. */
async function runAll(circumstances?: Circumstances): Promise<Record<string, number>> {
  const total: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const run = await new Simulation(seed, circumstances).run();
    expect(run.violations, `seed ${seed}`).toEqual([]);
    for (const [name, count] of Object.entries(run.counts)) total[name] = (total[name] ?? 0) + count;
  }
  if (requested !== undefined || replayed !== undefined) console.log(JSON.stringify({ runs, ...total }));
  return total;
}

/** Starts from a fixed seed, so that its duration does not vary. */
async function firstCaught(circumstances: Circumstances, { apply, from = 1 }: Partial<Mutant>): Promise<number> {
  // Also after a test that takes too long: its mutant would break the tests after it.
  if (apply !== undefined) onTestFinished(apply());
  for (let seed = from; seed < from + mutantRuns; seed += 1) {
    const { violations } = await new Simulation(seed, circumstances).run();
    if (violations.length > 0) return seed;
  }
  return never;
}

const never = Number.POSITIVE_INFINITY;

/**
 * The events that one of eighty runs must contain: an idle simulation would find nothing wrong. The rarest, `checkOnly`, is in a tenth of the runs,
 * and one run can have fifty of it, so a sum of eighty runs is no measure.
 */
const ingredients = [
  ["acknowledged", "signedOut", "cutOffs", "controlAcknowledged", "decided", "decidedByRecords", "unavailable"],
  ["shardRestarts", "relayRestarts", "otherRestarts", "servedBySuperseded", "frozen", "killed", "partitions", "idle"],
  [
    "closings",
    "openings",
    "slowBodies",
    "checkOnly",
    "filtersSent",
    "paced",
    "heldRenewals",
    "recordsSent",
    "recordsRelayed",
  ],
].flat();

it(`I1–I5 hold in random runs, from seed ${firstSeed}`, { timeout }, async () => {
  const total = await runAll();
  if (runs < 80) return;
  for (const name of ingredients) expect(total[name] ?? 0, name).toBeGreaterThanOrEqual(runs / 80);
});

it.each([4, 5])("I1: rows are kept for slow decisions, in run %i", { timeout }, async (seed) => {
  expect((await new Simulation(seed, slowDecisions).run()).violations).toEqual([]);
});

it("K6: a token signed by one isolate is recognised by the others, also with the first key of an algorithm", {
  timeout,
}, async () => {
  let signed = 0;
  const signingRuns = runCount(5, 12);
  for (let seed = firstSeed; seed < firstSeed + signingRuns; seed += 1) {
    const { violations, counts } = await new Simulation(seed, signing).run();
    expect(violations, `seed ${seed}`).toEqual([]);
    signed += counts["signed"] ?? 0;
  }
  expect(signed).toBeGreaterThan(1.5 * signingRuns);
});

it.each(Object.entries(mutants))("the simulation catches %s", { timeout }, async (_, mutant) => {
  expect(await firstCaught(mutant.in ?? {}, mutant)).toBeLessThan(never);
});

it.each(Object.entries(clockMutants))("the simulation sees what breaks by %s", { timeout }, async (_, mutant) => {
  expect(await firstCaught(mutant.in ?? {}, mutant)).toBeLessThan(never);
});

it("L1: cold isolates whose snapshots are paced get their leases in the end", { timeout }, async () => {
  const done = await runSteady(coldStart);
  expect(done.some(({ counts }) => (counts["paced"] ?? 0) > 0)).toBe(true);
});

it.each(Object.entries(waitingMutants))("L1: the simulation catches %s", { timeout }, async (_, mutant) => {
  expect(await firstCaught(coldStart, mutant)).toBeLessThan(never);
});

/** Runs with fixed seeds, because the rates of short runs vary. */
async function runSteady(circumstances: Circumstances): Promise<readonly Run[]> {
  const done: Run[] = [];
  for (let seed = 1; seed <= 8; seed += 1) done.push(await new Simulation(seed, circumstances).run());
  expect(done.flatMap(({ violations }) => violations)).toEqual([]);
  return done;
}

/** The calls per second of an isolate to its relay, and the calls that a lease should have saved. */
async function costOf(circumstances: Circumstances): Promise<{ readonly calls: number; readonly lapses: number }> {
  const done = await runSteady(circumstances);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return { calls: mean(done.map((run) => run.callsPerIsolate)), lapses: mean(done.map((run) => run.lapses)) };
}

const isAffordable = ({ calls, lapses }: Awaited<ReturnType<typeof costOf>>) => calls <= 1.72 && lapses === 0;

it("C1: an isolate calls its relay at most twice a second while a change is announced every two seconds, and no lease ends", {
  timeout,
}, async () => {
  const { calls, lapses } = await costOf(steadyNews);
  expect(calls).toBeLessThanOrEqual(2);
  expect(lapses).toBe(0);
});

it("C1: 1.7 calls a second while nothing is announced, and no lease ends", { timeout }, async () => {
  expect(await costOf(quiet)).toSatisfy(isAffordable);
});

it.each(Object.entries(costlyMutants))("C1: the simulation catches %s", { timeout }, async (_, mutant) => {
  onTestFinished(mutant.apply());
  expect(await costOf(quiet)).not.toSatisfy(isAffordable);
});

it.each([
  ["a shard", 0, 75],
  ["a relay", 2, 90],
])(
  "without faults, a revocation at %s is acknowledged within a few network legs",
  { timeout },
  async (_, relays, mostMs) => {
    const done: number[] = [];
    for (let seed = 1; seed <= 12; seed += 1) {
      const { violations, acknowledgementsMs } = await new Simulation(seed, {
        ...steadyNews,
        relays,
        revokeMs: 700,
      }).run();
      expect(violations, `seed ${seed}`).toEqual([]);
      done.push(...acknowledgementsMs);
    }
    expect(done.length).toBeGreaterThan(120);
    // A leg takes up to 15 ms: the call, the news and the confirmation (at a relay twice), two durable writes, and the pace of wake-ups.
    expect(done.sort((a, b) => a - b)[Math.floor(done.length / 2)]).toBeLessThan(mostMs);
  },
);
