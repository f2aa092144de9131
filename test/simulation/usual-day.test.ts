import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type MeasuredDay, measuredDays } from "../../load-tests/model/measured-days.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { installPlatform } from "./platform.ts";
import { UsualDay } from "./usual-day.ts";

afterAll(installPlatform());

/** Written by `scripts/count-days.ts`. */
const report = join(repositoryRoot, "load-tests/reports/days/days.json");
const { days } = JSON.parse(readFileSync(report, "utf8")) as { readonly days: readonly MeasuredDay[] };
const sum = (of: Readonly<Record<string, number>>) => Object.values(of).reduce((total, value) => total + value, 0);

it("nobody uses the deployment: alarms delete what has ended, a few times a day, and no object calls another", async () => {
  const { calls, awakeSeconds, databaseCalls } = await new UsualDay(measuredDays[0]).run();
  expect(Object.keys(calls)).toEqual(["control.alarm", "keys.alarm"]);
  expect(sum(calls)).toBeLessThan(6);
  expect(databaseCalls).toBeLessThan(12);
  expect(sum(awakeSeconds)).toBeLessThan(1);
});

it("ten users: no lease is renewed for isolates without requests, and objects sleep between requests, as in the stored report", async () => {
  const day = await new UsualDay({ ...measuredDays[1], hours: 24 }).run();
  expect(day.calls["revocation.lease"] ?? 0).toBeLessThan(3);
  // A lone request: 10.4 s until the lease of its shard has ended would be six times as much in all.
  expect(day.awakeSeconds["control"]).toBeLessThan(4 * day.calls["control.follow"]!);
  expect(day.awakeSeconds["revocation"]).toBeLessThan(0.1 * day.calls["revocation.check"]!);
  const stored = days.find(({ users }) => users === 10)!;
  for (const name of ["control.follow", "control.alarm", "revocation.check"]) {
    expect(day.calls[name]! / stored.calls[name]!, name).toBeGreaterThan(0.85);
    expect(day.calls[name]! / stored.calls[name]!, name).toBeLessThan(1.15);
  }
});

it("in continuous use, the control plane sleeps between the renewals of shards", async () => {
  const { calls, awakeSeconds } = await new UsualDay({ users: 10_000, hours: 0.2, isolates: 4, shards: 1 }).run();
  expect(calls["control.follow"]).toBeGreaterThan(30_000);
  expect(awakeSeconds["control"]).toBeLessThan(0.01 * calls["control.follow"]!);
});
