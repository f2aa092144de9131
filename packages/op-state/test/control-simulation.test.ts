import { env } from "cloudflare:workers";
import { controlLeaseLifeMs, leaseTiming } from "@edge-op/shared/config/lease-timing";
import { expect, it } from "vitest";
import { ControlSimulation, mutants, protocol } from "./simulation/control-simulation.ts";

/** `SIMULATION_SEED=4711 npx vitest run --project op-state control-simulation` replays one run. */
const { SIMULATION_SEED: replayed } = env as unknown as { readonly SIMULATION_SEED: string };
const firstSeed = replayed === "" ? Math.floor(Math.random() * 2 ** 31) : Number(replayed);
const runs = replayed === "" ? 300 : 1;
const mutantRuns = 10_000;

it(`I6, I7 hold with the control plane, D1 and shards lost in every combination, from seed ${firstSeed}`, {
  timeout: 240_000,
}, () => {
  const total: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const { violations, counts } = new ControlSimulation(seed, protocol).run();
    expect(violations, `seed ${seed}`).toEqual([]);
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
  }
  // An idle simulation would find nothing wrong.
  for (const [name, count] of Object.entries(total))
    expect(count, name).toBeGreaterThanOrEqual(replayed === "" ? runs : 0);
});

it.each(Object.entries(mutants))(
  "the simulation of the control plane catches %s",
  { timeout: 240_000 },
  (_, wiring) => {
    let seed = firstSeed;
    while (seed < firstSeed + mutantRuns && new ControlSimulation(seed, wiring).run().violations.length === 0)
      seed += 1;
    expect(seed).toBeLessThan(firstSeed + mutantRuns);
  },
);

/** The announcement of change 2 is three seconds in flight, while shards register and D1 is set back to change 2 without their registrations. */
const rareSeed = 1_447_480_869;

it("I7 holds when D1 is restored during an announcement, because a restoration cancels the calls in progress", () => {
  const violations = (restorationCancelsCalls: boolean) =>
    new ControlSimulation(rareSeed, { ...protocol, restorationCancelsCalls }).run().violations;
  expect(violations(true)).toEqual([]);
  expect(violations(false)).not.toEqual([]);
});

/** Measured by the slowest clock, with the calls of D1. */
const longestMs = controlLeaseLifeMs / (1 - leaseTiming.driftRate) + 200;

it("a change waits for a shard that hangs until its lease has ended, and no longer", () => {
  const waitsMs = Array.from({ length: 50 }, (_, index) => {
    const simulation = new ControlSimulation(firstSeed + index, protocol, { faults: false });
    simulation.at(30_000, () => simulation.hangShard(1, 80_000));
    expect(simulation.run().violations).toEqual([]);
    return simulation.waitsMs;
  }).flat();
  expect(Math.max(...waitsMs)).toBeGreaterThan(7_000);
  expect(Math.max(...waitsMs)).toBeLessThan(longestMs);
});

it.each([
  ["the control plane is away", ["control"], true],
  ["D1 is away", ["database"], true],
  ["the control plane is started again every five seconds", [], true],
  ["the control plane and D1 are away", ["control", "database"], false],
] as const)("decisions while %s", (_, away, isServed) => {
  for (let seed = firstSeed; seed < firstSeed + 30; seed += 1) {
    const simulation = new ControlSimulation(seed, protocol, { faults: false });
    simulation.at(20_000, () => {
      for (const place of away) simulation[place].awayUntilMs = 60_000;
    });
    const restart = (atMs: number) =>
      simulation.at(atMs, () => {
        simulation.restartControl();
        restart(atMs + 5_000);
      });
    if (away.length === 0) restart(20_000);
    const { violations, counts } = simulation.run();
    expect(violations).toEqual([]);
    expect(counts.byLease).toBeGreaterThan(300);
    expect(counts.refused === 0, `${counts.refused} refused`).toBe(isServed);
  }
});
