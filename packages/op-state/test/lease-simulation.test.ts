import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type Run, Simulation } from "./simulation/lease-simulation.ts";
import { filterMutants, filterProtocol, leaseEndMutants, mutants, protocol } from "./simulation/lease-wiring.ts";

/** `LEASE_SEED=4711 npx vitest run --project op-state lease-simulation` replays one run. */
const { LEASE_SEED: replayed } = env as unknown as { readonly LEASE_SEED: string };
const firstSeed = replayed === "" ? Math.floor(Math.random() * 2 ** 31) : Number(replayed);
const runs = replayed === "" ? 1_000 : 1;
const mutantRuns = 15_000;

function violates(run: Run, invariant = ""): boolean {
  return run.violations.some((violation) => violation.startsWith(invariant));
}

it(`I1–I5 hold in thousands of random runs, from seed ${firstSeed}`, { timeout: 240_000 }, () => {
  const total = {
    acknowledged: 0,
    decidedByLease: 0,
    decidedByCheck: 0,
    servedBySuperseded: 0,
    restarts: 0,
    heldRenewals: 0,
    confirmed: 0,
    releases: 0,
    frozen: 0,
    killed: 0,
    closed: 0,
  };
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const run = new Simulation(seed, protocol).run();
    expect(run.violations, `seed ${seed}`).toEqual([]);
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += run[name];
  }
  // An idle simulation would find nothing wrong.
  for (const [name, count] of Object.entries(total))
    expect(count, name).toBeGreaterThanOrEqual(replayed === "" ? runs : 0);
});

it("I1–I5 hold in filter mode, with rows that are in storage and in the filter alone", { timeout: 240_000 }, () => {
  const total = { acknowledged: 0, decidedByLease: 0, decidedByCheck: 0, restarts: 0, filters: 0, hits: 0 };
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const run = new Simulation(seed, filterProtocol).run();
    expect(run.violations, `seed ${seed}`).toEqual([]);
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += run[name];
  }
  for (const [name, count] of Object.entries(total))
    expect(count, name).toBeGreaterThanOrEqual(replayed === "" ? runs : 0);
});

it.each(Object.entries(filterMutants))("the simulation catches %s", { timeout: 240_000 }, (_, wiring) => {
  const seeds = Array.from({ length: mutantRuns }, (_run, index) => firstSeed + index);
  expect(seeds.some((seed) => violates(new Simulation(seed, wiring).run(), "I1"))).toBe(true);
});

it.each(Object.entries(mutants))("the simulation catches %s", { timeout: 240_000 }, (_, wiring) => {
  const seeds = Array.from({ length: mutantRuns }, (_, index) => firstSeed + index);
  expect(seeds.some((seed) => violates(new Simulation(seed, wiring).run(), "I1"))).toBe(true);
});

it.each(Object.entries(leaseEndMutants))(
  "I2: the simulation sees a lease that outlives the shard's, by %s",
  { timeout: 240_000 },
  (_, wiring) => {
    const seeds = Array.from({ length: mutantRuns }, (_run, index) => firstSeed + index);
    expect(seeds.some((seed) => violates(new Simulation(seed, wiring).run(), "I2"))).toBe(true);
  },
);

it("without faults a revocation is acknowledged in a few network legs", { timeout: 240_000 }, () => {
  const waits = Array.from({ length: 50 }, (_, index) =>
    new Simulation(firstSeed + index, protocol, { faults: false }).run(),
  ).flatMap(({ violations, acknowledgementsMs }) => {
    expect(violations).toEqual([]);
    return acknowledgementsMs;
  });
  expect(waits.length).toBeGreaterThan(300);
  // A leg takes up to 15 ms: the news, the confirmation, two durable writes, and the pace of wake-ups.
  expect(waits.sort((a, b) => a - b)[Math.floor(waits.length / 2)]).toBeLessThan(75);
});
