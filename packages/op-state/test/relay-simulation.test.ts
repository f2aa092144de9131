import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { isCostly, type RelayCircumstances, type RelayRun, RelaySimulation } from "./simulation/relay-simulation.ts";
import {
  clockMutants,
  coldStart,
  costlyMutants,
  quiet,
  type RelayWiring,
  relayLeaseEndMutants,
  relayMutants,
  relayProtocol,
  steadyNews,
  waitingMutants,
} from "./simulation/relay-wiring.ts";

/**
 * `LEASE_SEED=4711 npx vitest run --project op-state relay-simulation` replays one run; `LEASE_RUNS=20000` makes as many. Both print
 * what the runs were made of.
 */
const { LEASE_SEED: replayed, LEASE_RUNS: requested } = env as unknown as Record<string, string>;
const firstSeed = replayed === "" ? Math.floor(Math.random() * 2 ** 31) : Number(replayed);
const runs = replayed === "" ? Number(requested || 200) : 1;
const mutantRuns = 3_000;
const timeout = 240_000 + 100 * runs;

/** What the runs were made of. */
async function runAll(wiring: RelayWiring, circumstances?: RelayCircumstances): Promise<Record<string, number>> {
  const total: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const run = await new RelaySimulation(seed, wiring, circumstances).run();
    expect(run.violations, `seed ${seed}`).toEqual([]);
    for (const [name, count] of Object.entries(run.counts)) total[name] = (total[name] ?? 0) + count;
  }
  if (requested !== "" || replayed !== "") console.log(JSON.stringify({ runs, ...total }));
  return total;
}

async function isCaught(
  wiring: RelayWiring,
  invariant: (violation: string) => boolean,
  circumstances?: RelayCircumstances,
): Promise<boolean> {
  for (let seed = firstSeed; seed < firstSeed + mutantRuns; seed += 1) {
    const { violations } = await new RelaySimulation(seed, wiring, circumstances).run();
    if (violations.some(invariant)) return true;
  }
  return false;
}

/** What every fourth run must contain on average: an idle simulation would find nothing wrong. */
const ingredients = [
  ["acknowledged", "controlAcknowledged", "decidedByRelay", "decidedByShard", "decidedByCheck", "settled"],
  ["upstreamConfirmations", "confirmed", "uncovered", "relayRestarts", "shardRestarts", "servedBySuperseded"],
  ["frozen", "killed", "partitions", "discarded", "closings", "relayCalls", "slowBodies", "checkOnly"],
  ["filtersBuilt", "filtersSent", "hits", "swept", "clockChanges", "paced"],
].flat();

it(`I1 and I2 hold behind relays in random runs, from seed ${firstSeed}`, { timeout }, async () => {
  const total = await runAll(relayProtocol);
  for (const name of ingredients) expect(total[name] ?? 0, name).toBeGreaterThan(replayed === "" ? runs / 4 : -1);
});

it.each(Object.entries(relayMutants))("the simulation of relays catches %s", { timeout }, async (_, wiring) => {
  expect(await isCaught(wiring, (violation) => !violation.startsWith("I2"))).toBe(true);
});

it.each(Object.entries(clockMutants))(
  "the simulation of relays sees what breaks by %s",
  { timeout },
  async (_, wiring) => {
    expect(await isCaught(wiring, (violation) => violation.startsWith("I1"))).toBe(true);
  },
);

it.each(Object.entries(relayLeaseEndMutants))(
  "I2: the simulation sees a lease that outlives its server's, by %s",
  { timeout },
  async (_, wiring) => {
    const steady = { modes: { clocks: false } };
    expect(await isCaught(wiring, (violation) => violation.startsWith("I2"), steady)).toBe(true);
  },
);

it("L1: cold isolates whose snapshots are paced get their leases in the end", { timeout }, async () => {
  const { paced = 0, relayCalls = 0 } = await runAll(relayProtocol, coldStart);
  expect(paced).toBeGreaterThan(replayed === "" ? runs / 4 : -1);
  expect(relayCalls / runs).toBeLessThan(400);
});

it.each(Object.entries(waitingMutants))("L1: the simulation of relays catches %s", { timeout }, async (_, wiring) => {
  expect(await isCaught(wiring, (violation) => violation.startsWith("L1"), coldStart)).toBe(true);
});

/** Of fixed seeds: rates of short runs vary. */
async function runSteady(wiring: RelayWiring, circumstances: RelayCircumstances): Promise<readonly RelayRun[]> {
  const done: RelayRun[] = [];
  for (let seed = 1; seed <= 40; seed += 1) done.push(await new RelaySimulation(seed, wiring, circumstances).run());
  return done;
}

it("C1: an isolate calls its relay at most twice a second while half a change a second is announced, and no lease ends without faults", {
  timeout,
}, async () => {
  const done = await runSteady(relayProtocol, steadyNews);
  expect(done.flatMap(({ violations }) => violations)).toEqual([]);
  expect(done.reduce((sum, { callsPerIsolate }) => sum + callsPerIsolate, 0) / done.length).toBeLessThanOrEqual(2);
  expect(done.map(({ lapses }) => lapses)).toEqual(done.map(() => 0));
});

it("C1: at most 1.8 times a second while nothing is announced, and no lease ends", { timeout }, async () => {
  const done = await runSteady(relayProtocol, quiet);
  expect(done.filter(isCostly)).toEqual([]);
  for (const { counts } of done) expect(counts["decidedByRelay"]).toBeGreaterThan(100);
});

it.each(Object.entries(costlyMutants))("C1: the simulation of relays catches %s", { timeout }, async (_, wiring) => {
  expect((await runSteady(wiring, quiet)).some(isCostly)).toBe(true);
});

it("without faults a revocation behind a relay is acknowledged in a few network legs", { timeout }, async () => {
  const waits: number[] = [];
  for (let seed = firstSeed; seed < firstSeed + 40; seed += 1) {
    const circumstances = { faults: false, modes: { paced: false } };
    const { violations, acknowledgementsMs } = await new RelaySimulation(seed, relayProtocol, circumstances).run();
    expect(violations, `seed ${seed}`).toEqual([]);
    waits.push(...acknowledgementsMs);
  }
  expect(waits.length).toBeGreaterThan(300);
  // A leg takes up to 15 ms: the news twice, the confirmation twice, and the pace of wake-ups.
  expect(waits.sort((a, b) => a - b)[Math.floor(waits.length / 2)]).toBeLessThan(90);
});
