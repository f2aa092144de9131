import { defaultHabits, type Habits, limitBytes, readsPerDay, storeBytes } from "./habits.ts";
import { type LeaseFleet, type LeaseLoad, leaseLoad } from "./leases.ts";
import { costOfMonth, fleetOf, type MonthCost, type MonthSettings, secondsPerDay } from "./month.ts";
import { platform } from "./platform.ts";
import { codeWork, signInWork } from "./sign-in.ts";

/**
 * **From expected users and isolates to settings and cost.** Operators replace the assumptions about people; the rules keep the busiest object at
 * half of its documented limit.
 */
export interface Sizing {
  /** Requests per second in the busiest minute. */
  readonly peak: {
    readonly total: number;
    readonly reads: number;
    readonly refreshes: number;
    readonly signIns: number;
    readonly furtherCodes: number;
  };
  readonly settings: MonthSettings;
  readonly refreshShards: number;
  /** Shards of sessions, of codes and of challenges each. */
  readonly sessionShards: number;
  readonly cost: MonthCost;
  /** Calls of the busiest object in the busiest minute: renewals, news, confirmations, writes and checks. */
  readonly busiestObject: number;
}

/** The planned share of an object's limit; uneven hashes and bursts use the rest. */
const plannedLoad = 0.5;
const perObject = platform.objectCallsPerSecond * plannedLoad;
const regions = 3;
/** Reads per second above which a second, fourth and eighth revocation shard is useful. */
const readsPerShard = 500;
const mostShards = 128;
/** Calls per second at the busiest shard above which relays are recommended. */
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
    furtherCodes: perSecond(habits.furtherCodes),
  };
  const ofCodes = peak.signIns * signInWork.requests + peak.furtherCodes * codeWork.requests;
  return { ...peak, total: peak.reads + peak.refreshes + ofCodes };
}

const leaseLengths = [1000, 2000, 5000, 10_000] as const;
/** The budget for leases: an amount in dollars, or a share of the total. */
const leaseBudget = { dollars: 10, share: 0.2 } as const;
const mostRelaysPerRegion = 64;
/** The default of `REQUEST_LOG_PERCENT`. */
const defaultLineShare = 0.1;

function busiestOf({ busiestShard, busiestRelay }: LeaseLoad): number {
  return Math.max(busiestShard, busiestRelay);
}

/** The minimum number of relays per region that keeps every object within its planned load; 0 if the shards can serve the isolates directly. */
export function relaysFor(loadWith: (relaysPerRegion: number) => LeaseLoad, aboveCalls = relaysAbove): number {
  if (busiestOf(loadWith(0)) <= aboveCalls) return 0;
  for (let relays = 1; relays < mostRelaysPerRegion; relays += 1) {
    if (busiestOf(loadWith(relays)) <= perObject) return relays;
  }
  return mostRelaysPerRegion;
}

/**
 * The relays of a region for a known rate of changes: a number with which no object exceeds its planned load, news included, and which gives the
 * shortest leases; more relays would only add load to the shards.
 */
export function relaysWithinPlan(loadWith: (relaysPerRegion: number) => LeaseLoad): number {
  let best: { readonly relays: number; readonly leaseMs: number } | undefined;
  for (let relays = 1; relays <= mostRelaysPerRegion; relays += 1) {
    const load = loadWith(relays);
    const { leaseMs } = load;
    if (busiestOf(load) <= perObject && (best === undefined || leaseMs < best.leaseMs)) best = { relays, leaseMs };
  }
  return best?.relays ?? mostRelaysPerRegion;
}

/**
 * The recommended settings for a number of users and isolates: the shortest lease within the budget, else the cheapest option, which is `direct` if
 * leases are rarely used.
 */
export function recommend(users: number, isolates: number, habits: Habits = defaultHabits): MonthSettings {
  const { reads } = peakOf(users, habits);
  const base = { isolates, regions, relaysPerRegion: 0, lineShare: defaultLineShare };
  const leased = leaseLengths.flatMap((leaseMs) => leasedSettings(users, habits, { ...base, mode: "strict", leaseMs }));
  const checkShards = powerOfTwoAtLeast(reads / readsPerShard, 1);
  const candidates: MonthSettings[] = [
    ...leased,
    { ...base, shards: checkShards, mode: "direct", leaseMs: leaseLengths[0] },
  ];
  const costs = candidates.map((settings) => costOfMonth(users, settings, habits));
  const affordable = costs.findIndex(
    ({ leases, total }) => leases <= Math.max(leaseBudget.dollars, (total - leases) * leaseBudget.share),
  );
  const cheapest = costs.reduce((best, { leases }, index) => (leases < costs[best]!.leases ? index : best), 0);
  return candidates[affordable < 0 ? cheapest : affordable]!;
}

/**
 * The minimum number of shards, and relays if needed or cheaper, with which no object exceeds its planned load in the busiest minute; `undefined` if
 * there is none.
 */
function leasedSettings(users: number, habits: Habits, base: Omit<MonthSettings, "shards">): MonthSettings[] {
  const fewest = powerOfTwoAtLeast(peakOf(users, habits).reads / readsPerShard, 1, 8);
  for (let shards = fewest; shards <= mostShards; shards *= 2) {
    const direct = { ...base, shards };
    const fleet = { ...peakFleet(users, habits, direct), longestLeaseMs: base.leaseMs };
    const loadWith = (relaysPerRegion: number) => leaseLoad({ ...fleet, relaysPerRegion });
    const relaysPerRegion = relaysFor(loadWith);
    const relayed = { ...direct, relaysPerRegion: Math.max(1, relaysPerRegion) };
    const isWithin = busiestOf(loadWith(relayed.relaysPerRegion)) <= perObject;
    if (relaysPerRegion > 0 && !isWithin) continue;
    if (relaysPerRegion > 0) return [relayed];
    const isCheaper = costOfMonth(users, relayed, habits).leases < costOfMonth(users, direct, habits).leases;
    return [isCheaper && isWithin ? relayed : direct];
  }
  return [];
}

/** The fleet in the busiest minute. */
function peakFleet(users: number, habits: Habits, settings: MonthSettings): LeaseFleet {
  const mean = fleetOf(users, habits, settings);
  const { peakOverMean } = habits;
  return {
    ...mean,
    requestsPerIsolate: mean.requestsPerIsolate * peakOverMean,
    revocationsPerSecond: mean.revocationsPerSecond * peakOverMean,
  };
}

/** The minimum number of shards whose objects stay below half of their limits, in calls of the busiest minute and in bytes. */
function shardsFor(callsPerSecond: number, bytes: number): number {
  return powerOfTwoAtLeast(Math.max(callsPerSecond / perObject, bytes / (limitBytes * plannedLoad)), 8);
}

export function sizeFor(users: number, isolates: number, habits: Habits = defaultHabits): Sizing {
  const peak = peakOf(users, habits);
  const bytes = storeBytes(users, habits);
  const settings = recommend(users, isolates, habits);
  const busiest = peakFleet(users, habits, settings);
  const isDirect = settings.mode === "direct";
  return {
    peak,
    settings,
    refreshShards: shardsFor(peak.refreshes, bytes.refresh),
    sessionShards: shardsFor(
      peak.signIns * signInWork.calls.session + peak.furtherCodes * codeWork.calls.session,
      Math.max(bytes.session, bytes.code),
    ),
    cost: costOfMonth(users, settings, habits),
    busiestObject: isDirect
      ? (busiest.isolates * busiest.requestsPerIsolate + busiest.revocationsPerSecond) / settings.shards
      : busiestOf(leaseLoad(busiest)),
  };
}
