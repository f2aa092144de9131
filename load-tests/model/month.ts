import { controlLeaseMs, leaseTiming } from "../../packages/shared/src/config/lease-timing.ts";
import { type MonthlyUse, meters, monthlyCost } from "./cost.ts";
import {
  auditEventsOf,
  auditMessagesOf,
  auditStorage,
  authorizationsPerDay,
  bytesPerUser,
  defaultHabits,
  type Habits,
  readsPerDay,
  revocationsPerDay,
  storeBytes,
} from "./habits.ts";
import { type LeaseFleet, leaseLoad } from "./leases.ts";
import { leaseWork, platform } from "./platform.ts";
import { cpuMs } from "./provider.ts";
import { codeWork, refreshWork, signInWork } from "./sign-in.ts";

export const secondsPerDay = 86_400;
export const daysPerMonth = 30;
const secondsPerMonth = secondsPerDay * daysPerMonth;

/** The time for which one call keeps an object active, including a durable commit. An idle object that may hibernate is not billed. */
const readSeconds = 0.002;
const writeSeconds = 0.015;
/** One line in Workers Logs, with the attributes that Cloudflare adds: an assumption. A deployment records no invocations (`invocation_logs`). */
const logBytesPerLine = 1000;
const linesPerIsolateAndSecond = 10;
const logRetentionMonths = 7 / daysPerMonth;
/** What is stored is deleted in the end, which D1 counts as one row written, without its entries in indexes (audit-consumer.test.ts). */
const deletion = 1;
/** The rows of an event: one of `audit_events`, and its entries in the indexes by shard, type, person, client and request. */
const rowsPerAuditEvent = 6 + deletion;
/** A shard in use renews its lease on the control log so often, and `ControlPlane` has an alarm in so many seconds meanwhile. */
const followsInLease = 4;
const alarmSeconds = 8;
/** An administrator's changes, a second. */
const changesPerSecond = 0.01;

export interface MonthSettings {
  /** `direct`: each read is an object call and there are no leases. */
  readonly mode: "strict" | "direct";
  readonly shards: number;
  readonly leaseMs: number;
  readonly regions: number;
  readonly relaysPerRegion: number;
  /** The isolates of all four leasing Workers that are alive at the same time. */
  readonly isolates: number;
  /** The share of requests with a log line (`REQUEST_LOG_PERCENT`), below the limit of an isolate. */
  readonly lineShare: number;
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
    revocationsPerSecond: perSecond * revocationsPerDay(habits),
    changesPerSecond,
    rowsPerShard: 500,
  };
}

/** Object calls, active time and CPU caused by leases alone, or by the exact checks in their place. */
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

/** The calls by which shards in use follow the control log, whatever the mode, and the alarms that look whether they still do. */
function controlUse({ isolates, requestsPerIsolate, shards }: LeaseFleet): Partial<MonthlyUse> {
  const usesInLease = ((isolates * requestsPerIsolate) / shards) * (controlLeaseMs / 1_000);
  const shardsInUse = shards * (1 - Math.exp(-usesInLease));
  const follows = (shardsInUse * followsInLease * secondsPerMonth) / (controlLeaseMs / 1_000);
  const usedSeconds = Math.min(1, shardsInUse) * secondsPerMonth;
  const alarms = usedSeconds / alarmSeconds;
  return {
    objectRequests: follows + alarms,
    objectGigabyteSeconds: (follows * readSeconds + alarms * writeSeconds) * platform.objectGigabytes,
    rowsWritten: usedSeconds / (leaseTiming.horizonStepMs / 1_000) + alarms,
  };
}

/** An object and its manifest. */
const writesPerSegment = 2;

/** What the audit log with its archive is charged for. */
function auditUse(users: number, habits: Habits): Partial<MonthlyUse> {
  const events = auditEventsOf(users, habits) * daysPerMonth;
  const { databaseBytes, archiveBytes, segmentsPerDay } = auditStorage(users, habits);
  return {
    d1RowsWritten: events * rowsPerAuditEvent,
    queueOperations: auditMessagesOf(users, habits) * daysPerMonth * 3,
    d1ByteMonths: databaseBytes,
    r2ByteMonths: archiveBytes,
    r2Writes: segmentsPerDay * daysPerMonth * writesPerSegment,
    // Each object is read back, with its manifest; searches are few.
    r2Reads: segmentsPerDay * daysPerMonth * writesPerSegment,
  };
}

/** An isolate with more requests than so many gathers them for so long (packages/shared/src/http/request-metrics.ts). */
const singlePoints = 10;
const gatherSeconds = 60;
/** Each isolate serves so many clients, and the requests of each kind are divided equally among them: an assumption. */
const clientsOfIsolate = 4;

/** Data points of `METRICS`: a kind of request that a busy isolate has met within the minute is one, however often. */
function metricsUse(users: number, habits: Habits, isolates: number): Partial<MonthlyUse> {
  const minutes = (isolates * secondsPerMonth) / gatherSeconds;
  const perMinute = (users * habits.dailyShare * daysPerMonth) / minutes;
  const requests = perMinute * requestsPerDay(habits);
  if (requests <= singlePoints) return { analyticsPoints: minutes * requests };
  const { introspections, exchanges, userinfo, refreshes, signIns, furtherCodes, failedSignIns } = habits;
  const kinds = [
    ...[introspections, exchanges, userinfo, refreshes, authorizationsPerDay(habits), revocationsPerDay(habits)],
    // The pages of a sign-in, its redirect, and the redirect of a further code; its refusal.
    ...Array.from({ length: signInWork.requests - 1 }, () => signIns),
    ...[furtherCodes, failedSignIns],
  ];
  const met = kinds.map((perDay) => clientsOfIsolate * -Math.expm1((-perDay * perMinute) / clientsOfIsolate));
  return { analyticsPoints: minutes * met.reduce((sum, points) => sum + points, 0) };
}

/** What is stored of users, and in objects of their sessions and grants. */
function storageUse(users: number, habits: Habits): Partial<MonthlyUse> {
  const { refresh, session, code } = storeBytes(users, habits);
  return { d1ByteMonths: users * bytesPerUser, objectByteMonths: refresh + session + code };
}

/** The use that requests cause directly. */
export function requestUse(users: number, habits: Habits): Partial<MonthlyUse> & { readonly workerRequests: number } {
  const month = users * habits.dailyShare * daysPerMonth;
  const { signIns, furtherCodes, refreshes } = habits;
  const revocations = revocationsPerDay(habits);
  const callsPerCode = codeWork.calls.session + codeWork.calls.code;
  const writes = month * (refreshes + revocations + signIns * signInWork.objectCalls + furtherCodes * callsPerCode);
  const requests = month * requestsPerDay(habits);
  const cpu =
    habits.introspections * cpuMs.introspect +
    habits.exchanges * cpuMs.exchange +
    habits.userinfo * cpuMs.userinfo +
    refreshes * cpuMs.refresh +
    furtherCodes * codeWork.workerCpuMs +
    signIns * (signInWork.workerCpuMs + signInWork.passwordCpuMs);
  const own = {
    workerRequests: requests,
    workerCpuMs: month * cpu,
    objectRequests: writes,
    objectGigabyteSeconds: writes * writeSeconds * platform.objectGigabytes,
    rowsRead: month * (refreshes * 2 + authorizationsPerDay(habits) * 20),
    rowsWritten:
      month *
      (refreshes * refreshWork.rowsWritten + signIns * signInWork.rowsWritten + furtherCodes * codeWork.rowsWritten),
    d1RowsRead: month * signIns * signInWork.d1Queries * 2,
    // Each user's session is listed.
    d1RowsWritten: month * signIns * (2 + deletion),
    // A user's claims are read through KV about once per hour and isolate that handles them.
    kvReads: month * (habits.userinfo + signIns),
    kvWrites: month,
  };
  return { ...plus(plus(own, auditUse(users, habits)), storageUse(users, habits)), workerRequests: requests };
}

/** Requests per active user and day. */
function requestsPerDay(habits: Habits): number {
  const { signIns, furtherCodes, refreshes } = habits;
  const ofCodes = signIns * signInWork.requests + furtherCodes * codeWork.requests;
  return readsPerDay(habits) + refreshes + revocationsPerDay(habits) + ofCodes;
}

export interface MonthCost {
  readonly total: number;
  /** The part of the total that would not be paid without leases. */
  readonly leases: number;
  /** Parts of the total: the CPU of password hashes; what the audit log writes, sends and stores; other storage; data points; Workers Logs. */
  readonly passwords: number;
  readonly audit: number;
  readonly storage: number;
  readonly metrics: number;
  readonly logs: number;
  /** What the data points would cost if each request were one, as in 0.1. */
  readonly pointsEach: number;
}

export function plus(a: Partial<MonthlyUse>, b: Partial<MonthlyUse>): Partial<MonthlyUse> {
  return Object.fromEntries(meters.map((meter) => [meter, (a[meter] ?? 0) + (b[meter] ?? 0)]));
}

export function costOfMonth(users: number, settings: MonthSettings, habits: Habits = defaultHabits): MonthCost {
  const fleet = fleetOf(users, habits, settings);
  const leases = leaseUse(fleet, settings.mode);
  const requests = requestUse(users, habits);
  const mostLines = settings.isolates * linesPerIsolateAndSecond * secondsPerMonth;
  const logged = Math.min(requests.workerRequests * settings.lineShare, mostLines) * logBytesPerLine;
  const logs = { logBytes: logged, logByteMonths: logged * logRetentionMonths };
  const metrics = metricsUse(users, habits, settings.isolates);
  const all = plus(plus(plus(plus(requests, leases), controlUse(fleet)), logs), metrics);
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
    audit: without(auditUse(users, habits)),
    storage: without(storageUse(users, habits)),
    metrics: without(metrics),
    logs: without(logs),
    pointsEach: monthlyCost({ analyticsPoints: requests.workerRequests }) - monthlyCost({}),
  };
}
