/** **The calculated tables of settings and cost.** */

import { count, table } from "../lib/format.ts";
import { auditDaysUntilFull, defaultHabits } from "./habits.ts";
import { costOfMonth, type MonthCost, type MonthSettings } from "./month.ts";
import type { Tables } from "./pages.ts";
import { sizeFor } from "./sizing.ts";

const dollars = (value: number) => (value < 10 ? `$${value.toFixed(2)}` : `$${count(value)}`);

function sizing(): string {
  const rows = [
    [10_000, 10],
    [100_000, 30],
    [1_000_000, 100],
    [10_000_000, 300],
    [50_000_000, 1000],
  ].map(([users, isolates]) => {
    const { peak, settings, refreshShards, sessionShards, cost, busiestObject } = sizeFor(users!, isolates!);
    const relays = settings.relaysPerRegion * settings.regions;
    const verifying = sizeFor(users!, isolates!, { ...defaultHabits, introspections: 0 });
    return [
      count(users!),
      count(isolates!),
      count(peak.total),
      peak.signIns.toFixed(1),
      settings.mode === "direct" ? "`direct`" : count(settings.leaseMs),
      `${settings.shards} / ${refreshShards} / ${sessionShards}`,
      relays === 0 ? "none" : count(relays),
      count(busiestObject),
      dollars(cost.total),
      dollars(verifying.cost.total),
      dollars(cost.leases),
      dollars(cost.passwords),
      dollars(cost.audit),
      dollars(cost.storage),
      dollars(cost.metrics),
      days(auditDaysUntilFull(users!)),
    ];
  });
  return table(
    [
      "users a month",
      "isolates",
      "peak requests/s",
      "sign-ins/s",
      "`LEASE_MS`",
      "shards: revocation / refresh / session, code, challenge",
      "relays",
      "busiest object, calls/s",
      "a month",
      "APIs verify tokens themselves",
      "leases",
      "passwords",
      "audit log",
      "other storage",
      "metrics",
      "`AUDIT_DB` without an archive is full after, days",
    ],
    rows,
  );
}

/** The month of a deployment with a data point for each request, as it was, and as it is. */
function savings(): string {
  const rows = [
    [10_000, 10],
    [100_000, 30],
    [1_000_000, 100],
  ].map(([users, isolates]) => {
    const all = sizeFor(users!, isolates!).cost;
    const few = sizeFor(users!, isolates!, { ...defaultHabits, introspections: 0 }).cost;
    const before = ({ total, metrics, pointsEach }: MonthCost) => dollars(total - metrics + pointsEach);
    const ofMetrics = [dollars(all.pointsEach), dollars(all.metrics)];
    return [count(users!), ...ofMetrics, before(all), dollars(all.total), before(few), dollars(few.total)];
  });
  const pair = (name: string) => [`${name}, a point for each request`, `${name}, now`];
  return table(
    ["users a month", ...pair("metrics"), ...pair("a month"), ...pair("APIs verify tokens themselves")],
    rows,
  );
}

function days(value: number): string {
  return value >= 10 ? count(value) : value.toPrecision(2);
}

function leaseCost(): string {
  const userCounts = [10_000, 100_000, 1_000_000, 10_000_000];
  const rows = [4, 10, 30, 100, 300, 3000].map((isolates) => [
    count(isolates),
    ...userCounts.map((users) => {
      const { settings, cost } = sizeFor(users, isolates);
      const relays = settings.relaysPerRegion * settings.regions;
      const how = settings.mode === "direct" ? "`direct`" : `${settings.leaseMs / 1000} s`;
      return `${dollars(cost.leases)} (${how}${relays === 0 ? "" : `, ${relays} relays`})`;
    }),
  ]);
  return table(["isolates", ...userCounts.map((users) => `${count(users)} users a month`)], rows);
}

function logs(): string {
  const rows = [
    [100_000, 30],
    [1_000_000, 100],
    [10_000_000, 300],
  ].map(([users, isolates]) => {
    const { settings } = sizeFor(users!, isolates!);
    const at = (lineShare: number) => costOfMonth(users!, { ...settings, lineShare } satisfies MonthSettings).logs;
    return [count(users!), count(isolates!), dollars(at(1)), dollars(at(0.1)), dollars(at(0.01))];
  });
  return table(["users a month", "isolates", "100 percent", "10 percent (default)", "1 percent"], rows);
}

export const sizingTables: Tables = { sizing, savings, "lease-cost": leaseCost, logs };
