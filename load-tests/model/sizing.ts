import { type LeaseLoad, leaseLoad } from "./leases.ts";
import {
  costOfMonth,
  defaultHabits,
  fleetOf,
  type Habits,
  type MonthCost,
  type MonthSettings,
  readsPerDay,
  secondsPerDay,
} from "./month.ts";
import { platform } from "./platform.ts";
import { signInWork } from "./sign-in.ts";

/**
 * **From expected users and isolates to settings and cost.** The assumptions about people are the operator's to replace; the rules
 * keep the busiest object at half of its documented limit.
 */
export interface Sizing {
  readonly users: number;
  /** Requests a second in the busiest minute. */
  readonly peak: {
    readonly total: number;
    readonly reads: number;
    readonly refreshes: number;
    readonly signIns: number;
  };
  readonly settings: MonthSettings;
  readonly refreshShards: number;
  /** Of sessions, codes and challenges each. */
  readonly sessionShards: number;
  readonly cost: MonthCost;
  /** Object calls a second for leases or exact checks, and those of the busiest object. */
  readonly leaseCallsPerSecond: number;
  readonly busiestObject: number;
}

/** Share of an object's limit that is planned for; uneven hashes and bursts use up the rest. */
const plannedLoad = 0.5;
const regions = 3;
/** Reads a second from which on a second, fourth and eighth revocation shard is of use. */
const readsPerShard = 500;
/** Calls a second at the busiest shard above which relays are recommended. */
const relaysAbove = 250;

function powerOfTwoAtLeast(value: number, fewest: number, most = Number.POSITIVE_INFINITY): number {
  let shards = fewest;
  while (shards < value && shards < most) shards *= 2;
  return shards;
}

export function peakOf(users: number, habits: Habits = defaultHabits): Sizing["peak"] {
  const perSecond = (perDay: number) => (users * habits.dailyShare * perDay * habits.peakOverMean) / secondsPerDay;
  const peak = {
    reads: perSecond(readsPerDay(habits)),
    refreshes: perSecond(habits.refreshes),
    signIns: perSecond(habits.signIns),
  };
  return { ...peak, total: peak.reads + peak.refreshes + peak.signIns * signInWork.requests };
}

const leaseLengths = [1000, 2000, 5000, 10_000] as const;
/** What leases may cost: so many dollars, or so much of the total. */
const leaseBudget = { dollars: 10, share: 0.2 } as const;
const mostRelaysPerRegion = 64;

/**
 * The fewest relays of a region with which renewals alone keep no object above its planned load (news are paced by each server itself);
 * none while the shards can serve the isolates themselves.
 */
export function relaysFor(loadWith: (relaysPerRegion: number) => LeaseLoad, aboveCalls = relaysAbove): number {
  const busiest = (relaysPerRegion: number) => {
    const { busiestShard, busiestRelay } = loadWith(relaysPerRegion);
    return Math.max(busiestShard, busiestRelay);
  };
  if (busiest(0) <= aboveCalls) return 0;
  for (let relays = 1; relays < mostRelaysPerRegion; relays += 1) {
    if (busiest(relays) <= platform.objectCallsPerSecond * plannedLoad) return relays;
  }
  return mostRelaysPerRegion;
}

/**
 * The relays of a region for a known rate of changes: with news, no object is above its planned load. Of such numbers, the one with the
 * shortest leases; more relays would only add to the load of the shards.
 */
export function relaysWithinPlan(loadWith: (relaysPerRegion: number) => LeaseLoad): number {
  let best: { readonly relays: number; readonly leaseMs: number } | undefined;
  for (let relays = 1; relays <= mostRelaysPerRegion; relays += 1) {
    const { busiestShard, busiestRelay, leaseMs } = loadWith(relays);
    const isWithin = Math.max(busiestShard, busiestRelay) <= platform.objectCallsPerSecond * plannedLoad;
    if (isWithin && (best === undefined || leaseMs < best.leaseMs)) best = { relays, leaseMs };
  }
  return best?.relays ?? mostRelaysPerRegion;
}

/** What an operator should set for so many users and isolates: the shortest lease that the budget allows, else the cheapest, which is `direct` where leases are hardly used. */
export function recommend(users: number, isolates: number, habits: Habits = defaultHabits): MonthSettings {
  const { reads } = peakOf(users, habits);
  const shards = powerOfTwoAtLeast(reads / readsPerShard, 1, 8);
  const base = { isolates, regions, shards, relaysPerRegion: 0, logSampling: 0 };
  const leased = leaseLengths.map((leaseMs): MonthSettings => {
    const direct = { ...base, mode: "strict", leaseMs } as const;
    const fleet = { ...fleetOf(users, habits, direct), revocationsPerSecond: 0, changesPerSecond: 0 };
    const loadWith = (relaysPerRegion: number) => leaseLoad({ ...fleet, longestLeaseMs: leaseMs, relaysPerRegion });
    const relayed = { ...direct, relaysPerRegion: Math.max(1, relaysFor(loadWith)) };
    if (relaysFor(loadWith) > 0) return relayed;
    const isCheaper = costOfMonth(users, relayed, habits).leases < costOfMonth(users, direct, habits).leases;
    return isCheaper ? relayed : direct;
  });
  const candidates: MonthSettings[] = [...leased, { ...base, mode: "direct", leaseMs: leaseLengths[0] }];
  const costs = candidates.map((settings) => costOfMonth(users, settings, habits));
  const affordable = costs.findIndex(
    ({ leases, total }) => leases <= Math.max(leaseBudget.dollars, (total - leases) * leaseBudget.share),
  );
  const cheapest = costs.reduce((best, { leases }, index) => (leases < costs[best]!.leases ? index : best), 0);
  return candidates[affordable < 0 ? cheapest : affordable]!;
}

export function sizeFor(users: number, isolates: number, habits: Habits = defaultHabits): Sizing {
  const peak = peakOf(users, habits);
  const perObject = platform.objectCallsPerSecond * plannedLoad;
  const settings = recommend(users, isolates, habits);
  const fleet = fleetOf(users, habits, settings);
  const load = leaseLoad(fleet);
  const direct = fleet.isolates * fleet.requestsPerIsolate;
  const isDirect = settings.mode === "direct";
  return {
    users,
    peak,
    settings,
    refreshShards: powerOfTwoAtLeast(peak.refreshes / perObject, 8),
    sessionShards: powerOfTwoAtLeast((peak.signIns * signInWork.calls.session) / perObject, 8),
    cost: costOfMonth(users, settings, habits),
    leaseCallsPerSecond: isDirect ? direct : load.callsPerSecond,
    busiestObject: isDirect ? direct / settings.shards : Math.max(load.busiestShard, load.busiestRelay),
  };
}
