import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type RelayRun, RelaySimulation } from "./relay-simulation.ts";
import { relayLeaseEndMutants, relayMutants, relayProtocol } from "./relay-wiring.ts";

/**
 * `LEASE_SEED=4711 npx vitest run --project op-state relay-simulation` replays one run; `LEASE_RUNS=20000` makes as many. Both print
 * what the runs were made of.
 */
const { LEASE_SEED: replayed, LEASE_RUNS: requested } = env as unknown as Record<string, string>;
const firstSeed = replayed === "" ? Math.floor(Math.random() * 2 ** 31) : Number(replayed);
const runs = replayed === "" ? Number(requested || 200) : 1;
const mutantRuns = 600;
const timeout = 60_000 + 100 * runs;

function isCaught(wiring: typeof relayProtocol, invariant: (violation: string) => boolean): boolean {
  const seeds = Array.from({ length: mutantRuns }, (_, index) => firstSeed + index);
  return seeds.some((seed) => new RelaySimulation(seed, wiring).run().violations.some(invariant));
}

it(`I1 and I2 hold behind relays in random runs, from seed ${firstSeed}`, { timeout }, () => {
  const total: Partial<Record<keyof RelayRun, number>> = {};
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const run = new RelaySimulation(seed, relayProtocol).run();
    expect(run.violations, `seed ${seed}`).toEqual([]);
    for (const [name, count] of Object.entries(run) as [keyof RelayRun, unknown][]) {
      if (typeof count === "number") total[name] = (total[name] ?? 0) + count;
    }
  }
  if (requested !== "" || replayed !== "") console.log(JSON.stringify({ runs, ...total }));
  // An idle simulation would find nothing wrong.
  for (const [name, count] of Object.entries(total))
    expect(count, name).toBeGreaterThan(replayed === "" ? runs / 2 : -1);
});

it.each(Object.entries(relayMutants))("the simulation of relays catches %s", { timeout }, (_, wiring) => {
  expect(isCaught(wiring, (violation) => !violation.startsWith("I2"))).toBe(true);
});

it.each(Object.entries(relayLeaseEndMutants))(
  "I2: the simulation sees a lease that outlives its server's, by %s",
  { timeout },
  (_, wiring) => {
    expect(isCaught(wiring, (violation) => violation.startsWith("I2"))).toBe(true);
  },
);

it("without faults a revocation behind a relay is acknowledged in a few network legs", { timeout }, () => {
  const waits = Array.from({ length: 40 }, (_, index) =>
    new RelaySimulation(firstSeed + index, relayProtocol, false).run(),
  ).flatMap(({ violations, acknowledgementsMs }) => {
    expect(violations).toEqual([]);
    return acknowledgementsMs;
  });
  expect(waits.length).toBeGreaterThan(300);
  // A leg takes up to 15 ms: the news twice, the confirmation twice, and the pace of wake-ups.
  expect(waits.sort((a, b) => a - b)[Math.floor(waits.length / 2)]).toBeLessThan(90);
});
