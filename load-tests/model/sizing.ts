import { type MonthlyUse, monthlyCost } from "./cost.ts";
import { platform } from "./platform.ts";
import { cpuMs, type Deployment, defaultDeployment } from "./provider.ts";

/**
 * **From expected users to settings and cost.** The assumptions about people are the operator's to replace; the rules that
 * turn requests into shards keep the busiest object at half of its documented limit.
 */
export interface Habits {
  /** Of the users of a month, on one day. */
  readonly dailyShare: number;
  /** Per user and day. */
  readonly signIns: number;
  readonly refreshes: number;
  readonly userinfo: number;
  readonly exchanges: number;
  readonly introspections: number;
  /** Rate of the busiest minute over the day's mean. */
  readonly peakOverMean: number;
}

export const defaultHabits: Habits = {
  dailyShare: 0.3,
  signIns: 1,
  refreshes: 8,
  userinfo: 4,
  exchanges: 20,
  introspections: 100,
  peakOverMean: 4,
};

export interface Sizing {
  readonly users: number;
  /** Requests a second in the busiest minute. */
  readonly peak: {
    readonly total: number;
    readonly reads: number;
    readonly refreshes: number;
    readonly signIns: number;
  };
  readonly settings: Deployment & { readonly sessionShards: number };
  readonly costPerMonth: number;
}

const secondsPerDay = 86_400;
const daysPerMonth = 30;
/** Requests of one sign-in: authorize, sign in, consent or resume, token, and the pages' own. */
const requestsPerSignIn = 5;
/** Objects called by one sign-in: challenge twice, session twice, code twice, family, revocation. */
const objectCallsPerSignIn = 8;
/** Share of an object's limit that is planned for; hash and weather use up the rest. */
const plannedLoad = 0.5;
/** Rows that one rotation, and one sign-in, write with their indexes and events. */
const rowsPerRefresh = 3;
const rowsPerSignIn = 12;
/** An idle object that may hibernate is not billed, so duration is what calls take, a durable commit included. */
const leaseCallSeconds = 0.002;
const writeSeconds = 0.015;

function powerOfTwoAtLeast(value: number, fewest: number): number {
  let shards = fewest;
  while (shards < value) shards *= 2;
  return shards;
}

export function sizeFor(users: number, habits: Habits = defaultHabits): Sizing {
  const daily = users * habits.dailyShare;
  const perSecond = (perDay: number) => (daily * perDay) / secondsPerDay;
  const peakOf = (perDay: number) => perSecond(perDay) * habits.peakOverMean;
  const readsPerDay = habits.userinfo + habits.exchanges + habits.introspections;
  const peak = { reads: peakOf(readsPerDay), refreshes: peakOf(habits.refreshes), signIns: peakOf(habits.signIns) };
  const total = peak.reads + peak.refreshes + peak.signIns * requestsPerSignIn;
  const perObject = platform.objectCallsPerSecond * plannedLoad;
  const isolates = Math.max(4, total / defaultDeployment.requestsPerIsolate);
  const settings = {
    ...defaultDeployment,
    // Renewals an object serves are isolates over half a lease: more shards do not change it, a longer lease does.
    leaseMs: [1000, 2000, 5000, 10_000].find((leaseMs) => isolates / (leaseMs / 2000) <= perObject) ?? 10_000,
    refreshShards: powerOfTwoAtLeast(peak.refreshes / perObject, 16),
    sessionShards: powerOfTwoAtLeast((peak.signIns * 2) / perObject, 8),
  };
  return {
    users,
    peak: { ...peak, total },
    settings,
    costPerMonth: monthlyCost(monthOf(daily, habits, settings, total)),
  };
}

function monthOf(daily: number, habits: Habits, settings: Sizing["settings"], peakTotal: number): MonthlyUse {
  const month = daily * daysPerMonth;
  const seconds = daysPerMonth * secondsPerDay;
  const reads = month * (habits.userinfo + habits.exchanges + habits.introspections);
  const meanIsolates = Math.max(4, peakTotal / habits.peakOverMean / settings.requestsPerIsolate);
  const renewals = (meanIsolates * settings.revocationShards * seconds * 2000) / settings.leaseMs;
  const leaseCalls = Math.min(renewals, reads);
  const writes = month * (habits.refreshes + habits.signIns * objectCallsPerSignIn);
  const cpu =
    month *
    (habits.introspections * cpuMs.introspect +
      habits.exchanges * cpuMs.exchange +
      habits.userinfo * cpuMs.userinfo +
      habits.refreshes * cpuMs.refresh +
      habits.signIns * requestsPerSignIn * signInRequestCpuMs);
  return {
    workerRequests: reads + month * (habits.refreshes + habits.signIns * requestsPerSignIn),
    workerCpuMs: cpu,
    objectRequests: leaseCalls + writes,
    objectGigabyteSeconds: (leaseCalls * leaseCallSeconds + writes * writeSeconds) * platform.objectGigabytes,
    rowsRead: month * (habits.refreshes * 2 + habits.signIns * 20) + leaseCalls * 2,
    rowsWritten: month * (habits.refreshes * rowsPerRefresh + habits.signIns * rowsPerSignIn),
    // A user's claims are read through KV about once an hour and isolate that meets them.
    kvReads: month * (habits.userinfo + habits.signIns),
    kvWrites: month,
  };
}

/** One of five requests of a sign-in verifies a password (PBKDF2, 100,000 rounds: 11 ms). */
const signInRequestCpuMs = 3;
