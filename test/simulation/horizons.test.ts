import { expect, it } from "vitest";
import { DurableHorizon, type Horizon } from "../../packages/op-state/src/leases/durable-horizon.ts";
import { leaseTiming, outlast } from "../../packages/shared/src/config/lease-timing.ts";
import { Clock, randomFrom } from "./simulated-time.ts";

/**
 * **A chain of instances of one shard, each on a clock of its own**, by the product's own {@link DurableHorizon}: the instance that storage belongs
 * to and the one before it, which responds until it has to write. A chain of restarts is rare in the simulation of everything; here every run has
 * one.
 */
interface Instance {
  readonly clock: Clock;
  readonly horizon: DurableHorizon;
  /** In its own time. */
  lastEndMs: number;
}

type Boot = (durable: Horizon | undefined, bootAtMs: number) => DurableHorizon;

const boot: Boot = (durable, bootAtMs) => new DurableHorizon(leaseTiming, durable, bootAtMs);

/** How long, at most, a lease or response of an earlier instance outlives the fence of a later one, in real time. */
function longestOutlived(seed: number, bootOne: Boot): number {
  const random = randomFrom(seed);
  let durable: Horizon | undefined;
  let current: Instance | undefined;
  let superseded: Instance | undefined;
  let lastEndMs = Number.NEGATIVE_INFINITY;
  let longest = Number.NEGATIVE_INFINITY;
  /** In real time: from then on the current instance acknowledges without waiting for its predecessors. */
  let fencedFromMs = Number.NEGATIVE_INFINITY;
  for (let realMs = 0; realMs < 60_000; realMs += Math.ceil(random() * 1_500)) {
    if (current === undefined || random() < 0.1) {
      superseded = current;
      const clock = new Clock(random, 1e12);
      current = { clock, horizon: bootOne(durable, clock.read(realMs)), lastEndMs: Number.NEGATIVE_INFINITY };
      fencedFromMs = Math.max(realMs, clock.realOf(current.horizon.bootFenceMs));
      lastEndMs = Number.NEGATIVE_INFINITY;
    }
    const responder: Instance = superseded !== undefined && random() < 0.5 ? superseded : current;
    const nowMs = responder.clock.read(realMs);
    const leaseMs = random() < 0.2 ? 0 : Math.ceil(random() * 2_000);
    const due = responder.horizon.due(leaseMs, Math.max(responder.lastEndMs, responder.horizon.bootFenceMs), nowMs);
    if (due !== undefined) {
      if (responder === superseded) {
        // Its write does not become durable, and ends it.
        superseded = undefined;
        continue;
      }
      durable = due;
      responder.horizon.extend(due, nowMs);
    }
    responder.horizon.assertCovers(leaseMs, nowMs);
    responder.lastEndMs = Math.max(responder.lastEndMs, nowMs + outlast(leaseTiming, leaseMs) + leaseTiming.marginMs);
    if (responder !== superseded) continue;
    // By the slowest clock of a holder.
    lastEndMs = Math.max(lastEndMs, realMs + leaseMs / (1 - leaseTiming.driftRate));
    longest = Math.max(longest, lastEndMs - fencedFromMs);
  }
  return longest;
}

const seeds = Array.from({ length: 2_000 }, (_, index) => index + 1);
const outlives = (bootOne: Boot) => seeds.some((seed) => longestOutlived(seed, bootOne) > 0);

it("I4: no response and no lease of a predecessor outlives the fence", () => {
  expect(outlives(boot)).toBe(false);
  // Predecessors do respond after their successor has begun, and their leases come within two seconds of the fence.
  expect(Math.max(...seeds.map((seed) => longestOutlived(seed, boot)))).toBeGreaterThan(-2_000);
});

it.each<[string, Boot]>([
  [
    "a predecessor's horizon trusted as one's own",
    (durable, bootAtMs) => {
      const horizon = boot(durable, bootAtMs);
      if (durable !== undefined) horizon.extend(durable, durable.horizonMs - outlast(leaseTiming, durable.leaseMs));
      return horizon;
    },
  ],
  [
    "a fence that knows no clock but its own",
    (durable, bootAtMs) =>
      boot(durable && { ...durable, horizonMs: durable.horizonMs - leaseTiming.clockOffsetMs }, bootAtMs),
  ],
  ["a fence without the longest lease", (durable, bootAtMs) => boot(durable && { ...durable, leaseMs: 0 }, bootAtMs)],
])("the chain shows %s", (_, bootOne) => {
  expect(outlives(bootOne)).toBe(true);
});
