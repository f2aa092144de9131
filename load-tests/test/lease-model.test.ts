import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadTestsRoot } from "../lib/find-k6.ts";
import { newestReport, storedReports } from "../lib/newest-report.ts";
import type { LeaseReport } from "../measure/render-leases.ts";
import { monthlyCost } from "../model/cost.ts";
import { defaultHabits, limitBytes, storeBytes } from "../model/habits.ts";
import { fleetOfMeasurement } from "../model/lease-report.ts";
import { callsOfHolder, d1ReadsPerSecond, defaultFleet, leaseLoad, replicaOf, writeWait } from "../model/leases.ts";
import { costOfMonth, fleetOf, type MonthSettings } from "../model/month.ts";
import { readTable, writeTables } from "../model/pages.ts";
import { refreshWork, signInLoad, signInWork } from "../model/sign-in.ts";
import { relaysFor, relaysWithinPlan, sizeFor } from "../model/sizing.ts";
import { comparedWork, type StoreReport } from "../model/store-report.ts";
import { calculatedTables } from "../model/tables.ts";

/** Each shard is used all the time, and nothing is revoked. */
const busy = { ...defaultFleet, requestsPerIsolate: 1e6, revocationsPerSecond: 0, changesPerSecond: 0 };
const fixedLease = { longestLeaseMs: defaultFleet.leaseMs };

describe("leases by isolates", () => {
  test("direct: isolates × shards × 2/L in all, and isolates × 2/L at one shard, however many shards there are", () => {
    const eight = leaseLoad({ ...busy, ...fixedLease, isolates: 5000, shards: 8 });
    const sixteen = leaseLoad({ ...busy, ...fixedLease, isolates: 5000, shards: 16 });
    expect(eight.callsPerSecond).toBeCloseTo(80_000, 5);
    expect(eight.busiestShard).toBeCloseTo(10_000, 5);
    expect(sixteen.busiestShard).toBeCloseTo(10_000, 5);
  });

  test("with relays: isolates × 1.67/L in all beside the relays' own; a shard sees relays × 4/L", () => {
    const load = leaseLoad({ ...busy, isolates: 1200, regions: 3, relaysPerRegion: 4 });
    expect(load.busiestRelay).toBeCloseTo(1200 / 12 / 0.6, 5);
    expect(load.busiestShard).toBeCloseTo(12 * 4, 5);
    expect(load.callsPerSecond).toBeCloseTo(1200 / 0.6 + 8 * 12 * 4, 5);
    expect(load.callsPerIsolate).toBeCloseTo(1 / 0.6, 5);
  });

  test("with relays and a change every two seconds, an isolate makes two calls a second at most", () => {
    const fleet = { ...busy, isolates: 1200, regions: 3, relaysPerRegion: 4, revocationsPerSecond: 0.5 };
    expect(leaseLoad(fleet).callsPerIsolate).toBeLessThanOrEqual(2);
  });

  test("leases become longer under pressure, up to ten seconds", () => {
    expect(leaseLoad({ ...busy, isolates: 200 }).leaseMs).toBe(1000);
    expect(leaseLoad({ ...busy, isolates: 1000 }).busiestShard).toBeCloseTo(400, 5);
    expect(leaseLoad({ ...busy, isolates: 30_000 }).leaseMs).toBe(10_000);
  });

  test("an isolate that is hardly used makes one call per read, and none makes more than twice as many as without leases", () => {
    expect(callsOfHolder(0.001, { leaseMs: 1000 }).perSecond).toBeCloseTo(0.001, 4);
    for (const uses of [0.01, 0.1, 0.5, 1, 2, 5, 20]) {
      const { perSecond, leased } = callsOfHolder(uses, { leaseMs: 1000 });
      expect(perSecond).toBeLessThan(Math.min(uses, 2) * 2.2);
      expect(leased).toBeLessThanOrEqual(1);
    }
  });

  test("news cause renewals, at most 500 a second at one server beyond those that half a lease causes", () => {
    const calm = leaseLoad({ ...busy, isolates: 250 });
    const storm = leaseLoad({ ...busy, isolates: 250, revocationsPerSecond: 100_000 });
    expect(storm.busiestShard - 100_000 / 8).toBeGreaterThan(calm.busiestShard);
    expect(storm.busiestShard - 100_000 / 8).toBeLessThan(calm.busiestShard + 500);
  });

  test("marks at 5,000 isolates: two calls a second of an isolate, 500 at the busiest object, no D1 read for a change", () => {
    const isolates = 5000;
    const relaysPerRegion = relaysFor((relays) =>
      leaseLoad({ ...busy, ...fixedLease, isolates, relaysPerRegion: relays }),
    );
    const load = leaseLoad({ ...busy, isolates, relaysPerRegion });
    expect(load.callsPerIsolate).toBeLessThanOrEqual(2);
    expect(Math.max(load.busiestRelay, load.busiestShard)).toBeLessThanOrEqual(500);
    const everHour = 3600;
    expect(d1ReadsPerSecond({ ...busy, isolates, changesPerSecond: 1 }, everHour).now).toBe(
      d1ReadsPerSecond({ ...busy, isolates, changesPerSecond: 0 }, everHour).now,
    );
  });

  test.each([300, 1000, 5000, 30_000])(
    "marks at %i isolates with news: 500 calls a second at the busiest object",
    (isolates) => {
      const fleet = { ...defaultFleet, isolates };
      const relaysPerRegion = relaysWithinPlan((relays) => leaseLoad({ ...fleet, relaysPerRegion: relays }));
      const load = leaseLoad({ ...fleet, relaysPerRegion });
      expect(Math.max(load.busiestRelay, load.busiestShard)).toBeLessThanOrEqual(500);
      expect(load.leaseMs).toBeLessThan(1300);
    },
  );

  test.each([
    [10, 400],
    [100, 500],
    [400, 1000],
  ])(
    "news without end at %i holders: %i calls a second, 500 of them news at most, and a renewal where the gap is longer",
    (isolates, calls) => {
      const storm = leaseLoad({ ...busy, ...fixedLease, isolates, shards: 1, revocationsPerSecond: 1e6 });
      expect(storm.busiestShard - 1e6).toBeCloseTo(calls, 0);
    },
  );

  test("a confirmed write waits for legs and for each confirmation in turn, and never longer than a lease", () => {
    const legs = { caller: 1, isolate: 2, relay: 10, commit: 5 };
    const direct = { ...busy, isolates: 100 };
    expect(writeWait(direct, legs, 1).withoutFaultsMs).toBeCloseTo(2 + 5 + 4 + 100, 5);
    const relayed = { ...busy, isolates: 100, regions: 2, relaysPerRegion: 2 };
    expect(writeWait(relayed, legs, 1).withoutFaultsMs).toBeCloseTo(2 + 5 + (4 + 25) + (20 + 4), 5);
    const slow = writeWait({ ...busy, ...fixedLease, isolates: 30_000 }, legs, 1);
    expect(slow.withoutFaultsMs).toBe(slow.withLostIsolateMs);
    expect(slow.withLostIsolateMs).toBeLessThan(1100);
  });

  test("beyond 500 rows a filter is sent: a million rows a shard at 0.002 calls a read", () => {
    const listed = replicaOf({ ...busy, rowsPerShard: 500 });
    const filter = replicaOf({ ...busy, rowsPerShard: 1_000_000 });
    expect(listed).toMatchObject({ isFilter: false, callsPerRead: 0, snapshotBytes: 8 * 30_000 });
    expect(filter.callsPerRead).toBeLessThan(0.01);
    expect(filter.snapshotBytes).toBeCloseTo((8 * 1_000_000 * 10.2) / 8, 0);
  });
});

describe("cost", () => {
  test("Cloudflare's own examples: 30 million messages cost 35.60 dollars, 75 GB of logs with 20 GB-months 7.05", () => {
    const plan = monthlyCost({});
    expect(monthlyCost({ queueOperations: 90e6 }) - plan).toBeCloseTo(35.6, 5);
    expect(monthlyCost({ logBytes: 75e9, logByteMonths: 20e9 }) - plan).toBeCloseTo(7.05, 5);
  });

  test("an object that holds a renewal is awake all month: 4.15 dollars beyond the included use", () => {
    const gigabyteSeconds = 0.128 * 30 * 86_400;
    expect((gigabyteSeconds / 1e6) * 12.5).toBeCloseTo(4.15, 2);
    const settings: MonthSettings = {
      mode: "strict",
      isolates: 4,
      shards: 8,
      leaseMs: 1000,
      regions: 1,
      relaysPerRegion: 0,
      lineShare: 0,
    };
    const fleet = fleetOf(100_000, { ...defaultHabits, introspections: 1000 }, settings);
    expect(leaseLoad(fleet).awakeObjects).toBeCloseTo(8, 2);
    // Duration alone, of seven objects that the plan does not include: the calls come on top.
    expect(costOfMonth(100_000, settings, { ...defaultHabits, introspections: 1000 }).leases).toBeGreaterThan(7 * 4.15);
  });

  test("leases cost at most 10 dollars or a fifth of the rest at 100,000 users a month with up to 30 isolates", () => {
    for (const isolates of [4, 10, 30]) {
      const { leases, total } = sizeFor(100_000, isolates).cost;
      expect(leases).toBeLessThanOrEqual(Math.max(10, (total - leases) / 5));
    }
  });

  test("shards are recommended by bytes too: no refresh or session object is above half of its limit", () => {
    for (const users of [10_000, 1_000_000, 10_000_000, 50_000_000]) {
      const { refreshShards, sessionShards } = sizeFor(users, 300);
      const { refresh, session, code } = storeBytes(users);
      expect(refresh / refreshShards).toBeLessThanOrEqual(limitBytes / 2);
      expect(Math.max(session, code) / sessionShards).toBeLessThanOrEqual(limitBytes / 2);
    }
    // By calls alone it was 8, of which each would have had 14.6 GB.
    expect(sizeFor(10_000_000, 300).refreshShards).toBe(32);
  });

  test("where an isolate serves less than one request in a lease, `direct` is recommended: a lease cannot be cheaper", () => {
    const { settings, cost } = sizeFor(100_000, 3000);
    expect(settings.mode).toBe("direct");
    expect(cost.leases).toBeLessThan(costOfMonth(100_000, { ...settings, mode: "strict" }).leases);
  });

  test.each([10_000, 100_000, 1_000_000, 10_000_000, 50_000_000, 200_000_000])(
    "%i users a month: no object makes more than 500 calls a second in the busiest minute, with news and confirmations",
    (users) => {
      for (const isolates of [4, 30, 300, 1000, 5000, 30_000]) {
        const { busiestObject, settings } = sizeFor(users, isolates);
        expect(busiestObject, JSON.stringify(settings)).toBeLessThanOrEqual(500);
      }
    },
  );

  test("the parts of a cost are within the total", () => {
    for (const users of [10_000, 1_000_000]) {
      const { total, leases, passwords, audit, metrics, logs } = sizeFor(users, 100).cost;
      expect(leases + passwords + audit + metrics + logs).toBeLessThan(total);
    }
  });
});

describe("sign-ins", () => {
  test("1,000 a second: D1 is above its plan before any object, and passwords need 219 processors", () => {
    const load = signInLoad(1000, 16);
    expect(load.limitedBy).toBe("D1");
    expect(load.callsPerSessionShard).toBeLessThanOrEqual(500);
    expect(load.isolatesWithPasswords - load.isolatesWithoutPasswords).toBeCloseTo(219, 5);
  });
});

describe("the model beside what was measured (reports)", () => {
  test("object calls of 1 to 16 isolates are within 25 % of the model, and no revoked token was active", () => {
    const reports = storedReports<LeaseReport>("leases.json");
    const measurements = reports.flatMap((report) => report.measurements);
    expect(measurements.length).toBeGreaterThanOrEqual(13);
    for (const measured of measurements) {
      const load = leaseLoad(fleetOfMeasurement(measured));
      expect(measured.callsPerSecond / load.callsPerSecond, JSON.stringify(measured)).toBeGreaterThan(0.75);
      expect(measured.callsPerSecond / load.callsPerSecond, JSON.stringify(measured)).toBeLessThan(1.25);
      expect(measured.violations).toBe(0);
    }
    for (const { violations } of reports.flatMap(({ faults }) => faults)) expect(violations).toBe(0);
  });

  test("on a quiet machine within 10 %, at 2, 8 and 25 requests a second, directly and behind a relay", () => {
    const { measurements } = newestReport<LeaseReport>("lease-marks", "leases.json");
    expect(new Set(measurements.map(({ ratePerIsolate }) => ratePerIsolate))).toEqual(new Set([2, 8, 25]));
    for (const measured of measurements) {
      const { callsPerSecond } = leaseLoad(fleetOfMeasurement(measured));
      expect(Math.abs(measured.callsPerSecond / callsPerSecond - 1), JSON.stringify(measured)).toBeLessThan(0.1);
    }
  });

  test("calls, rows and D1 queries of a sign-in and a refresh are those that the model scales up", () => {
    const report = newestReport<StoreReport>("stores", "stores.json");
    for (const measured of report.measurements) {
      const { operation, calls, rowsWritten, d1Queries } = measured;
      const compared = comparedWork(measured);
      // Refreshes that wait for one shard share a call.
      expect(compared.calls.measured).toBeLessThan(1.1 * compared.calls.modelled + 0.05);
      if (operation !== "refresh") expect(compared.calls.measured).toBeGreaterThan(0.9 * compared.calls.modelled);
      expect(compared.rowsWritten.measured / compared.rowsWritten.modelled).toBeGreaterThan(0.85);
      expect(compared.rowsWritten.measured / compared.rowsWritten.modelled).toBeLessThan(1.15);
      if (operation === "refresh") {
        expect(calls["RefreshTokenRotator.rotate"]).toBeLessThanOrEqual(refreshWork.calls.refresh + 0.05);
        expect(rowsWritten["RefreshTokenRotator"]).toBeCloseTo(refreshWork.rowsWritten, 0);
      }
      if (operation === "sign-in") expect(Math.abs(d1Queries - signInWork.d1Queries)).toBeLessThan(1);
    }
  });
});

describe("pages", () => {
  test.for(Object.entries(calculatedTables))("the calculated tables of %s are the model's", ([page, tables]) => {
    const text = readFileSync(join(loadTestsRoot, "..", "docs", "operating", page), "utf8");
    for (const [name, make] of Object.entries(tables)) {
      expect(readTable(text, name), `${name}: run print-tables.ts --calculated --write`).toBe(make());
    }
  });

  test("the page about deployments states the cost of the table", () => {
    const read = (page: string) => readFileSync(join(loadTestsRoot, "..", "docs", "operating", page), "utf8");
    const row = readTable(read("sizing.md"), "sizing")!
      .split("\n")
      .find((line) => line.startsWith("| 10,000 |"))!;
    const cost = row.split(" | ")[8];
    expect(cost).toMatch(/^\$\d+$/);
    expect(read("deploy.md")).toContain(`about ${cost} a month for 10,000 users`);
  });

  test("a table is written between its marks, and a missing place is an error", () => {
    const page = "a\n<!-- model: x -->\nold\n<!-- end -->\nb";
    expect(writeTables(page, { x: () => "new" })).toBe("a\n<!-- model: x -->\nnew\n<!-- end -->\nb");
    expect(() => writeTables(page, { y: () => "" })).toThrow("no place for the table y");
  });
});
