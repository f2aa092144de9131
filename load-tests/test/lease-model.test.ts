import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadTestsRoot } from "../lib/find-k6.ts";
import { storedReport } from "../lib/stored-report.ts";
import type { LeaseReport } from "../measure/render-leases.ts";
import { hotChange } from "../model/hot-changes.ts";
import { fleetOfMeasurement, type LeaseMeasurement } from "../model/lease-report.ts";
import {
  callsOfHolder,
  d1ReadsPerSecond,
  defaultFleet,
  type LeaseFleet,
  leaseLoad,
  replicaOf,
  writeWait,
} from "../model/leases.ts";
import { readTable, writeTables } from "../model/pages.ts";
import { refreshWork, signInWork } from "../model/sign-in.ts";
import { relaysFor, relaysWithinPlan } from "../model/sizing.ts";
import { comparedWork, type StoreReport, workOf } from "../model/store-report.ts";
import { calculatedTables } from "../model/tables.ts";

/** Each shard is used all the time, and nothing is revoked. */
const busy = { ...defaultFleet, requestsPerIsolate: 1e6, revocationsPerSecond: 0, changesPerSecond: 0 };
const fixedLease = { longestLeaseMs: defaultFleet.leaseMs };

describe("leases by isolates", () => {
  test("direct: isolates × shards × 2/L in total, and isolates × 2/L at one shard, regardless of the number of shards", () => {
    const eight = leaseLoad({ ...busy, ...fixedLease, isolates: 5000, shards: 8 });
    const sixteen = leaseLoad({ ...busy, ...fixedLease, isolates: 5000, shards: 16 });
    expect(eight.callsPerSecond).toBeCloseTo(80_000, 5);
    expect(eight.busiestShard).toBeCloseTo(10_000, 5);
    expect(sixteen.busiestShard).toBeCloseTo(10_000, 5);
  });

  test("with relays: isolates × 1.67/L in total plus the relays' own; a shard receives relays × 4/L", () => {
    const load = leaseLoad({ ...busy, isolates: 1200, regions: 3, relaysPerRegion: 4 });
    expect(load.busiestRelay).toBeCloseTo(1200 / 12 / 0.6, 5);
    expect(load.busiestShard).toBeCloseTo(12 * 4, 5);
    expect(load.callsPerSecond).toBeCloseTo(1200 / 0.6 + 8 * 12 * 4, 5);
    expect(load.callsPerIsolate).toBeCloseTo(1 / 0.6, 5);
  });

  test("with relays and a change every two seconds, an isolate makes at most two calls per second", () => {
    const fleet = { ...busy, isolates: 1200, regions: 3, relaysPerRegion: 4, revocationsPerSecond: 0.5 };
    expect(leaseLoad(fleet).callsPerIsolate).toBeLessThanOrEqual(2);
  });

  test("leases become longer under pressure, up to ten seconds", () => {
    expect(leaseLoad({ ...busy, isolates: 200 }).leaseMs).toBe(1000);
    expect(leaseLoad({ ...busy, isolates: 1000 }).busiestShard).toBeCloseTo(400, 5);
    expect(leaseLoad({ ...busy, isolates: 30_000 }).leaseMs).toBe(10_000);
  });

  test("one use per second of a shard: 1.885 calls, of which 0.98 renewals and 0.51 checks, and a lease half of the time", () => {
    // again = 1 − e^−1 = 0.6321; lapses = e^−1.25 = 0.2865; holds = again / (lapses + again) = 0.6881; leased = holds (1 − lapses) = 0.4910.
    // leased / 0.5 + (1 − leased) + (1 − holds) again + holds lapses = 0.9819 + 0.5090 + 0.1971 + 0.1971.
    const { perSecond, leased } = callsOfHolder(1, { leaseMs: 1000 });
    expect(leased).toBeCloseTo(0.491, 3);
    expect(perSecond).toBeCloseTo(1.8853, 3);
  });

  test("with one write a second at one shard, 50 isolates renew 2.53 times a second each, and 1,000 every two seconds", () => {
    const oneShard = { ...busy, shards: 1, revocationsPerSecond: 1 };
    // Between news: a gap of 50 / 500 s and e^−0.1 s on average; a renewal with them, and e^−0.5 / (1 − e^−0.5) = 1.54 at half of a lease.
    expect(leaseLoad({ ...oneShard, isolates: 50 }).busiestShard).toBeCloseTo((50 * 2.5415) / 1.00484 + 1, 1);
    // Leases of 5 s, a gap of 2 s.
    expect(leaseLoad({ ...oneShard, isolates: 1000 }).busiestShard).toBeCloseTo((1000 * 1.08943) / 2.13534 + 1, 1);
  });

  test("a rarely used isolate makes one call per read, and none makes more than twice as many as without leases", () => {
    expect(callsOfHolder(0.001, { leaseMs: 1000 }).perSecond).toBeCloseTo(0.001, 4);
    for (const uses of [0.01, 0.1, 0.5, 1, 2, 5, 20]) {
      const { perSecond, leased } = callsOfHolder(uses, { leaseMs: 1000 });
      expect(perSecond).toBeLessThan(Math.min(uses, 2) * 2.2);
      expect(leased).toBeLessThanOrEqual(1);
    }
  });

  test("news causes renewals, at most 500 per second at one server in addition to those of half a lease", () => {
    const calm = leaseLoad({ ...busy, isolates: 250 });
    const storm = leaseLoad({ ...busy, isolates: 250, revocationsPerSecond: 100_000 });
    expect(storm.busiestShard - 100_000 / 8).toBeGreaterThan(calm.busiestShard);
    expect(storm.busiestShard - 100_000 / 8).toBeLessThan(calm.busiestShard + 500);
  });

  test("marks at 5,000 isolates: two calls a second of an isolate, 500 at the busiest object", () => {
    const isolates = 5000;
    const relaysPerRegion = relaysFor((relays) =>
      leaseLoad({ ...busy, ...fixedLease, isolates, relaysPerRegion: relays }),
    );
    const load = leaseLoad({ ...busy, isolates, relaysPerRegion });
    expect(load.callsPerIsolate).toBeLessThanOrEqual(2);
    expect(Math.max(load.busiestRelay, load.busiestShard)).toBeLessThanOrEqual(500);
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
    "continuous news at %i holders: %i calls per second, at most 500 of them news, and a renewal where the gap is longer",
    (isolates, calls) => {
      const storm = leaseLoad({ ...busy, ...fixedLease, isolates, shards: 1, revocationsPerSecond: 1e6 });
      expect(storm.busiestShard - 1e6).toBeCloseTo(calls, 0);
    },
  );

  test("a confirmed write waits for network legs and for each confirmation in turn, but never longer than a lease", () => {
    const legs = { caller: 1, isolate: 2, relay: 10, commit: 5 };
    const direct = { ...busy, isolates: 100 };
    expect(writeWait(direct, legs, 1).withoutFaultsMs).toBeCloseTo(2 + 5 + 4 + 100, 5);
    const relayed = { ...busy, isolates: 100, regions: 2, relaysPerRegion: 2 };
    expect(writeWait(relayed, legs, 1).withoutFaultsMs).toBeCloseTo(2 + 5 + (4 + 25) + (20 + 4), 5);
    const slow = writeWait({ ...busy, ...fixedLease, isolates: 30_000 }, legs, 1);
    expect(slow.withoutFaultsMs).toBe(slow.withLostIsolateMs);
    expect(slow.withLostIsolateMs).toBeLessThan(1100);
  });

  test("above 500 rows a filter is sent: a million rows per shard at 0.002 calls per read", () => {
    const listed = replicaOf({ ...busy, rowsPerShard: 500 });
    const filter = replicaOf({ ...busy, rowsPerShard: 1_000_000 });
    expect(listed).toMatchObject({ isFilter: false, callsPerRead: 0, snapshotBytes: 8 * 30_000 });
    expect(filter.callsPerRead).toBe(1 / 512);
    expect(filter.snapshotBytes).toBeCloseTo((8 * 1_000_000 * 10.2) / 8, 0);
  });

  test("cold isolates receive 32 MiB per second from a server, and call it at most 1,000 times per second", () => {
    const cold = { ...busy, isolates: 1000 };
    // 1,275,000 bytes for each isolate; six relays send those of all shards to a sixth of the isolates.
    expect(replicaOf({ ...cold, rowsPerShard: 1_000_000 }).coldStartSeconds).toBeCloseTo(38.0, 1);
    expect(replicaOf({ ...cold, rowsPerShard: 1_000_000, relaysPerRegion: 2 }).coldStartSeconds).toBeCloseTo(50.7, 1);
    expect(replicaOf({ ...cold, rowsPerShard: 500 }).coldStartSeconds).toBe(1);
  });

  test("D1 reads: three per starting isolate, and none per change", () => {
    const reads = d1ReadsPerSecond({ ...busy, isolates: 300, changesPerSecond: 0.2 }, 3600);
    expect(reads).toEqual({ before: 0.25 + 240, now: 0.25 });
  });

  test.each([4, 16, 64, 5_000])(
    "a change of what %i isolates use is read once, and the generation table by each relay too",
    (isolates) => {
      const relayed = { ...busy, isolates, regions: 3, relaysPerRegion: 7 };
      for (const record of ["client", "keys", "generations"] as const) {
        for (const fleet of [{ ...busy, isolates }, relayed]) {
          const ofRelays = record === "generations" ? fleet.regions * fleet.relaysPerRegion : 0;
          expect(hotChange(fleet, record, true)).toMatchObject({ d1Reads: 1 + ofRelays, keyManagerCalls: 0 });
          const { d1Reads, keyManagerCalls } = hotChange(fleet, record, false);
          expect(d1Reads + keyManagerCalls).toBe(isolates + ofRelays);
        }
      }
    },
  );
});

describe("the model compared with measurements (reports)", () => {
  const { measurements, faults, missing } = storedReport<LeaseReport>("leases");

  /** The rows for which the model, or a wrong one, deviates by more than 10 %. */
  function rowsOff(fleetOfRow: (measured: LeaseMeasurement) => LeaseFleet): string[] {
    const isOff = (measured: number, model: number) => Math.abs(measured / model - 1) > 0.1;
    return measurements
      .filter((row) => {
        const { callsPerSecond, busiestRelay } = leaseLoad(fleetOfRow(row));
        return isOff(row.callsPerSecond, callsPerSecond) || (row.relays > 0 && isOff(row.busiestRelay, busiestRelay));
      })
      .map(({ isolates, relays, ratePerIsolate }) => `${isolates} isolates, ${relays} relays, ${ratePerIsolate}/s`);
  }

  test("the stored run is complete, and no revoked token was active", () => {
    expect(missing).toEqual([]);
    for (const { violations } of [...measurements, ...faults]) expect(violations).toBe(0);
    for (const { failures } of measurements) expect(failures).toBe(0);
    const kinds = measurements.map(({ isolates, relays, ratePerIsolate }) => [isolates, relays, ratePerIsolate].join());
    expect(kinds.toSorted()).toEqual(["1,0,8", "1,1,8", "16,0,8", "16,1,8", "4,0,2", "4,0,25", "4,0,8", "4,1,8"]);
    expect(new Set(faults.map(({ fault, relays }) => `${fault} ${relays}`)).size).toBe(7);
  });

  test("object calls, in total and at a relay, are within 10 % of the model", () => {
    expect(rowsOff(fleetOfMeasurement)).toEqual([]);
  });

  test.each<[string, (fleet: LeaseFleet) => Partial<LeaseFleet>]>([
    ["leases that are a fifth longer", ({ leaseMs }) => ({ leaseMs: leaseMs * 1.2 })],
    ["one shard less", ({ shards }) => ({ shards: shards - 1 })],
    ["relays that hold renewals for half of a lease", () => ({ relayShare: 0.5 })],
    ["a revocation a second", () => ({ revocationsPerSecond: 1 })],
    ["isolates that are used all the time", () => ({ requestsPerIsolate: 1e6 })],
    ["relays that are left out", () => ({ relaysPerRegion: 0 })],
  ])("a wrong model is detected: %s", (_, change) => {
    const wrong = (row: LeaseMeasurement) => ({ ...fleetOfMeasurement(row), ...change(fleetOfMeasurement(row)) });
    expect(rowsOff(wrong)).not.toEqual([]);
  });

  test("calls, rows and D1 queries of a sign-in and a refresh are those that the model scales up", () => {
    const report = storedReport<StoreReport>("stores");
    expect(new Set(report.measurements.map(({ operation }) => operation))).toEqual(new Set(Object.keys(workOf)));
    for (const measured of report.measurements) {
      const { operation, calls, rowsWritten, d1Queries } = measured;
      const compared = comparedWork(measured);
      // Refreshes that wait for one shard share a call.
      expect(compared.calls.measured).toBeLessThan(1.1 * compared.calls.modelled + 0.05);
      if (operation !== "refresh") expect(compared.calls.measured).toBeGreaterThan(0.9 * compared.calls.modelled);
      expect(compared.rowsWritten.measured / compared.rowsWritten.modelled).toBeGreaterThan(0.85);
      // Rows of the 32 sign-ins of the preparation are deleted meanwhile, which matters in a run with fewer.
      if (measured.operations > 20) {
        expect(compared.rowsWritten.measured / compared.rowsWritten.modelled).toBeLessThan(1.15);
      }
      // The run reached its rate.
      expect(measured.perSecond / measured.rate).toBeGreaterThan(0.95);
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
    const text = readFileSync(join(loadTestsRoot, "..", page), "utf8");
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
    expect(read("deploy.md").replaceAll(/\s+/g, " ")).toContain(`[About ${cost} a month](sizing.md) for 10,000 users`);
  });

  test("the tables about sizing agree with each other", () => {
    const page = readFileSync(join(loadTestsRoot, "..", "docs", "operating", "sizing.md"), "utf8");
    const rowsOf = (name: string) => {
      const lines = readTable(page, name)!
        .split("\n")
        .filter((_, index) => index !== 1);
      const [names = [], ...rows] = lines.map((line) => line.slice(2, -2).split(" | "));
      return rows.map((cells) => Object.fromEntries(cells.map((cell, index) => [names[index]!, cell])));
    };
    const sizes = rowsOf("sizing");
    const dollarsOf = (text = "") => Number(/^\$([\d,.]+)/.exec(text)?.[1]?.replaceAll(",", ""));
    let compared = 0;
    for (const { "users a month": users, isolates, leases, "a month": cost, ...others } of sizes) {
      expect(dollarsOf(others["APIs verify tokens themselves"])).toBeLessThan(dollarsOf(cost));
      const byIsolates = rowsOf("lease-cost").find((row) => row["isolates"] === isolates);
      const same = byIsolates?.[`${users} users a month`];
      if (same !== undefined) {
        expect(dollarsOf(same), `leases of ${users}`).toBe(dollarsOf(leases));
        compared += 1;
      }
      // Simulated days, with fixed settings instead of those that the first table recommends.
      for (const day of rowsOf("rest").filter((row) => row["users a month"] === users)) {
        expect(Math.abs(dollarsOf(day["a month"]) / dollarsOf(cost) - 1), `a month of ${users}`).toBeLessThan(0.15);
        compared += 1;
      }
    }
    expect(compared).toBe(6);
  });

  test("a table is written between its markers, and a missing place is an error", () => {
    const page = "a\n<!-- model: x -->\nold\n<!-- end -->\nb";
    expect(writeTables(page, { x: () => "new" })).toBe("a\n<!-- model: x -->\nnew\n<!-- end -->\nb");
    expect(() => writeTables(page, { y: () => "" })).toThrow("no place for the table y");
  });
});
