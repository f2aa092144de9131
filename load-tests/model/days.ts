import { count, table } from "../lib/format.ts";
import { storedReport } from "../lib/stored-report.ts";
import { type MonthlyUse, monthlyCost } from "./cost.ts";
import { defaultHabits } from "./habits.ts";
import type { MeasuredDay } from "./measured-days.ts";
import { daysPerMonth, plus, requestUse } from "./month.ts";
import { platform, prices } from "./platform.ts";

/** The calls of sessions belong to the requests. */
function background({ calls }: MeasuredDay, isCounted: (store: string, method: string) => boolean): number {
  const counted = Object.entries(calls).filter(([name]) => {
    const [store = "", method = ""] = name.split(".");
    return isCounted(store, method);
  });
  return counted.reduce((sum, [, calls]) => sum + calls, 0);
}

const isLease = (store: string, method: string) => store === "revocation" && /^(lease|release|check)$/.test(method);
const isControl = (store: string, method: string) => store === "control" && method !== "alarm";
const isAlarm = (_: string, method: string) => method === "alarm";

/** The part of a month that its requests do not cause directly: leases, checks, the control log, alarms. */
function backgroundUse(day: MeasuredDay): Partial<MonthlyUse> {
  const { awakeSeconds, rowsWritten } = day;
  const sum = (of: Readonly<Record<string, number>>) =>
    ["revocation", "control", "keys"].reduce((total, store) => total + (of[store] ?? 0), 0);
  return {
    objectRequests:
      daysPerMonth * background(day, (...call) => isLease(...call) || isControl(...call) || isAlarm(...call)),
    objectGigabyteSeconds: daysPerMonth * sum(awakeSeconds) * platform.objectGigabytes,
    rowsWritten: daysPerMonth * sum(rowsWritten),
  };
}

/** **The cost of small deployments**: days that were simulated with the product's objects, at list prices. Their data points are included ones. */
function rest(): string {
  const { days } = storedReport<{ readonly days: readonly MeasuredDay[] }>("days");
  const rows = days.map((day) => {
    const use = plus(requestUse(day.users, defaultHabits), backgroundUse(day));
    const awake = (store: string) => count(day.awakeSeconds[store] ?? 0);
    const share = (use.objectGigabyteSeconds ?? 0) / prices.objectGigabyteSeconds.included;
    return [
      count(day.users),
      String(day.shards),
      count((use.workerRequests ?? 0) / daysPerMonth),
      count(background(day, isLease)),
      count(background(day, isControl)),
      count(background(day, isAlarm)),
      awake("revocation"),
      awake("control"),
      count(day.databaseCalls),
      count(((use.rowsWritten ?? 0) + (use.d1RowsWritten ?? 0)) / daysPerMonth),
      `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`,
      `$${monthlyCost(use).toFixed(2)}`,
    ];
  });
  return table(
    [
      "users a month",
      "revocation shards",
      "requests",
      "leases and exact checks",
      "calls of `ControlPlane`",
      "alarms",
      "seconds awake: revocation shards",
      "`ControlPlane`",
      "D1 calls without those of requests",
      "rows written",
      "of the included duration of objects",
      "a month",
    ],
    rows,
  );
}

export const dayTables = { rest };
