import { type MonthlyUse, meters, monthlyCost } from "./cost.ts";
import { type LeaseFleet, leaseLoad } from "./leases.ts";
import { leaseWork, platform } from "./platform.ts";
import { cpuMs } from "./provider.ts";
import { refreshWork, signInWork } from "./sign-in.ts";

/** **What a month of use consumes**, by people's habits and by the number of isolates, and what it costs. */
export interface Habits {
  /** Of the users of a month, on one day. */
  readonly dailyShare: number;
  /** Per user and day. */
  readonly signIns: number;
  readonly refreshes: number;
  readonly userinfo: number;
  readonly exchanges: number;
  readonly introspections: number;
  /** Sign-outs and revocations. */
  readonly revocations: number;
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
  revocations: 0.3,
  peakOverMean: 4,
};

export const secondsPerDay = 86_400;
const daysPerMonth = 30;
const secondsPerMonth = secondsPerDay * daysPerMonth;

/** Time for which one call keeps an object active, a durable commit included. An idle object that may hibernate is not billed. */
const readSeconds = 0.002;
const writeSeconds = 0.015;
/** One line or invocation in Workers Logs, with the attributes that Cloudflare adds: an assumption. */
const logBytesPerEvent = 1000;
const logRetentionMonths = 7 / daysPerMonth;
/** An administrator's changes, a second. */
const changesPerSecond = 0.01;

export interface MonthSettings {
  /** `direct`: each read is an object call, and no lease is held. */
  readonly mode: "strict" | "direct";
  readonly shards: number;
  readonly leaseMs: number;
  readonly regions: number;
  readonly relaysPerRegion: number;
  /** Alive at the same time, of all four Workers that lease. */
  readonly isolates: number;
  /** Share of invocations that Workers Logs records (`head_sampling_rate`). */
  readonly logSampling: number;
}

/** Reads that are decided by leases. */
export function readsPerDay(habits: Habits): number {
  return habits.userinfo + habits.exchanges + habits.introspections;
}

export function fleetOf(users: number, habits: Habits, settings: MonthSettings): LeaseFleet {
  const perSecond = (users * habits.dailyShare) / secondsPerDay;
  return {
    isolates: settings.isolates,
    requestsPerIsolate: (perSecond * (readsPerDay(habits) + habits.refreshes)) / settings.isolates,
    shards: settings.shards,
    leaseMs: settings.leaseMs,
    longestLeaseMs: leaseWork.longestLeaseMs,
    regions: settings.regions,
    relaysPerRegion: settings.relaysPerRegion,
    revocationsPerSecond: perSecond * habits.revocations,
    changesPerSecond,
    rowsPerShard: 500,
  };
}

/** Object calls, time awake and CPU that leases alone cause, or the exact checks in their place. */
function leaseUse(fleet: LeaseFleet, mode: MonthSettings["mode"]): Partial<MonthlyUse> {
  const { callsPerSecond, awakeObjects } =
    mode === "direct"
      ? { callsPerSecond: fleet.isolates * fleet.requestsPerIsolate, awakeObjects: 0 }
      : leaseLoad(fleet);
  const calls = callsPerSecond * secondsPerMonth;
  const awakeSeconds = awakeObjects * secondsPerMonth + calls * readSeconds * (awakeObjects > 0.5 ? 0 : 1);
  return {
    objectRequests: calls,
    objectGigabyteSeconds: awakeSeconds * platform.objectGigabytes,
    workerCpuMs: calls * leaseWork.renewalCpuMs,
    rowsRead: calls,
  };
}

function requestUse(users: number, habits: Habits): MonthlyUse {
  const month = users * habits.dailyShare * daysPerMonth;
  const reads = month * readsPerDay(habits);
  const writes = month * (habits.refreshes + habits.revocations + habits.signIns * signInWork.objectCalls);
  const requests = reads + month * (habits.refreshes + habits.revocations + habits.signIns * signInWork.requests);
  const cpu =
    habits.introspections * cpuMs.introspect +
    habits.exchanges * cpuMs.exchange +
    habits.userinfo * cpuMs.userinfo +
    habits.refreshes * cpuMs.refresh +
    habits.signIns * (signInWork.workerCpuMs + signInWork.passwordCpuMs);
  const events = month * (habits.signIns * signInWork.auditEvents + habits.revocations);
  return {
    workerRequests: requests,
    workerCpuMs: month * cpu,
    objectRequests: writes,
    objectGigabyteSeconds: writes * writeSeconds * platform.objectGigabytes,
    rowsRead: month * (habits.refreshes * 2 + habits.signIns * 20),
    rowsWritten: month * (habits.refreshes * refreshWork.rowsWritten + habits.signIns * signInWork.rowsWritten),
    d1RowsRead: month * habits.signIns * signInWork.d1Queries * 2,
    // An event is one row and two index rows; each user's session is listed.
    d1RowsWritten: events * 3 + month * habits.signIns * 2,
    // A user's claims are read through KV about once an hour and isolate that meets them.
    kvReads: month * (habits.userinfo + habits.signIns),
    kvWrites: month,
    queueOperations: events * 3,
    logBytes: 0,
    logByteMonths: 0,
  };
}

export interface MonthCost {
  readonly total: number;
  /** Of the total: what would not be paid without leases. */
  readonly leases: number;
  /** Of the total: the CPU of password hashes; the messages of the audit log; Workers Logs. */
  readonly passwords: number;
  readonly queues: number;
  readonly logs: number;
}

function plus(a: Partial<MonthlyUse>, b: Partial<MonthlyUse>): Partial<MonthlyUse> {
  return Object.fromEntries(meters.map((meter) => [meter, (a[meter] ?? 0) + (b[meter] ?? 0)]));
}

export function costOfMonth(users: number, settings: MonthSettings, habits: Habits = defaultHabits): MonthCost {
  const fleet = fleetOf(users, habits, settings);
  const leases = leaseUse(fleet, settings.mode);
  const requests = requestUse(users, habits);
  // An endpoint's request is two invocations, its own and the front door's; each call of an object is one.
  const invocations = requests.workerRequests * 2 + requests.objectRequests + (leases.objectRequests ?? 0);
  const logged = invocations * logBytesPerEvent * settings.logSampling;
  const logs = { logBytes: logged, logByteMonths: logged * logRetentionMonths };
  const all = plus(plus(requests, leases), logs);
  const total = monthlyCost(all);
  const without = (less: Partial<MonthlyUse>) => {
    const negative = Object.fromEntries(Object.entries(less).map(([meter, value]) => [meter, -(value ?? 0)]));
    return total - monthlyCost(plus(all, negative));
  };
  const signIns = users * habits.dailyShare * daysPerMonth * habits.signIns;
  return {
    total,
    leases: without(leases),
    passwords: without({ workerCpuMs: signIns * signInWork.passwordCpuMs }),
    queues: without({ queueOperations: requests.queueOperations }),
    logs: without(logs),
  };
}
