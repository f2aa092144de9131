import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadOf } from "../lib/presets.ts";
import { monthlyCost } from "../model/cost.ts";
import { auditDaysUntilFull, defaultHabits, limitBytes, storeBytes } from "../model/habits.ts";
import { leaseLoad } from "../model/leases.ts";
import { costOfMonth, fleetOf, type MonthSettings } from "../model/month.ts";
import { readTable } from "../model/pages.ts";
import { predict } from "../model/provider.ts";
import { simulateReference } from "../model/reference-system.ts";
import { signInLoad } from "../model/sign-in.ts";
import { simulate } from "../model/simulate.ts";
import { peakOf, sizeFor } from "../model/sizing.ts";

const oneObject = { objects: 1, callMs: 2, itemMs: 0, waitMs: 0, longestQueueMs: 60_000 };

function holdAt(rate: number, maxVus = Number.POSITIVE_INFINITY) {
  const stages = [{ seconds: 20, toRate: rate }];
  return { startRate: rate, stages, maxVus, arrivals: "poisson" as const, seed: 7, countedFromMs: 2000 };
}

const oneCall = {
  isolates: 1,
  keys: 1,
  stores: { only: oneObject },
  steps: [{ kind: "call" as const, store: "only", probability: 1 }],
};

test("an idle object responds after its work: half of 2 ms is constant, half exponential", () => {
  const outcome = simulate(oneCall, { ...holdAt(5), stages: [{ seconds: 4000, toRate: 5 }] });
  // 1 + ln 2 and 1 + ln 100, and hardly any wait.
  expect(outcome.p50).toBeCloseTo(1.7, 1);
  expect(outcome.p99).toBeGreaterThan(5.2);
  expect(outcome.p99).toBeLessThan(6.1);
  expect(outcome.stores.only!.busiest).toBeCloseTo(0.01, 3);
});

test("an object below its ceiling queues as predicted by queueing theory (Pollaczek–Khinchine)", () => {
  const rate = 250;
  const outcome = simulate(oneCall, { ...holdAt(rate), stages: [{ seconds: 200, toRate: rate }] });
  // Half of the 2 ms is fixed, half exponential: E[S²] = 2² + 1² = 5; wait = λ·E[S²] / 2(1 − ρ) = 0.25·5 / (2·0.5) = 1.25 ms.
  expect(outcome.stores.only!.busiest).toBeCloseTo(0.5, 1);
  expect(outcome.p50).toBeGreaterThan(2);
  expect(outcome.p50).toBeLessThan(3.25);
  expect(outcome.dropped).toBe(0);
});

test("an object beyond its ceiling drops what the virtual users cannot hold", () => {
  const outcome = simulate(oneCall, holdAt(1000, 1500));
  expect(outcome.served / 18).toBeCloseTo(500, -2);
  expect(outcome.dropped).toBeGreaterThan(7000);
  // Little's law: 1,500 in flight at 500/s wait 3 s.
  expect(outcome.p50 / 1000).toBeCloseTo(3, 0);
});

test("an isolate that shares calls sends them one after the other, and each carries the requests that arrived meanwhile", () => {
  const stores = { only: { ...oneObject, callMs: 10 } };
  const shared = { ...oneCall, stores, steps: [{ kind: "batched" as const, store: "only" }] };
  const outcome = simulate(shared, holdAt(1000));
  // Calls of 10 ms: 100 a second, ten requests in each. A request waits half of a call and for its own.
  expect(outcome.stores.only!.calls / 18).toBeCloseTo(100, -1);
  expect(outcome.served).toBe(outcome.asked);
  expect(outcome.p50).toBeGreaterThan(10);
  expect(outcome.p50).toBeLessThan(20);
  // Without sharing, the object serves a tenth of them.
  expect(simulate({ ...oneCall, stores }, holdAt(1000, 1500)).served / 18).toBeCloseTo(100, -1);
});

test("exchange of the reference holds 2,500/s and saturates at 3,000/s, with 16 shards as with 8", () => {
  expect(simulateReference("exchange", 8, 2500).saturated).toBe(false);
  expect(simulateReference("exchange", 8, 3000).saturated).toBe(true);
  expect(simulateReference("exchange", 16, 3000).saturated).toBe(true);
});

test("introspection of the reference holds 300/s and saturates at 750/s, with 32 shards", () => {
  expect(simulateReference("introspect", 16, 300).saturated).toBe(false);
  const at750 = simulateReference("introspect", 32, 750);
  expect(at750.saturated).toBe(true);
  // Published: 87,771 requests, p95 2,605 ms. The stated error is 20 %.
  expect(Math.abs(at750.served / 87_771 - 1)).toBeLessThan(0.2);
  expect(Math.abs(at750.p95 / 2605 - 1)).toBeLessThan(0.2);
});

test("refresh of the reference at 3,000/s: 32 shards refuse, 48 do not", () => {
  expect(simulateReference("refresh", 32, 3000).failed).toBeGreaterThan(1000);
  expect(simulateReference("refresh", 48, 3000).failed).toBe(0);
});

test("direct mode: a busy object gets larger batches instead of longer queues", () => {
  const light = predict("introspect", 3000, 8);
  const heavy = predict("introspect", 30_000, 8);
  expect(light.isolates).toBe(10);
  expect(light.objectCallsPerRequest).toBeGreaterThan(0.8);
  // 8 objects of 1,000 calls a second.
  expect(heavy.objectCallsPerSecond).toBeGreaterThan(7_000);
  expect(heavy.objectCallsPerSecond).toBeLessThan(8_500);
  expect(heavy.objectCallsPerRequest).toBeLessThan(0.3);
  expect(heavy.holds).toBe(true);
});

test("a rate beyond the capacity of the objects, batches included, does not hold", () => {
  // The table of the page: 100,000 refreshes a second by 16 shards.
  expect(predict("refresh", 100_000, 16).holds).toBe(false);
  expect(predict("refresh", 10_000, 48).holds).toBe(true);
});

test("the cost of Cloudflare's own example, 15 million requests of 7 ms, is 8.00 dollars", () => {
  expect(monthlyCost({ workerRequests: 15e6, workerCpuMs: 15e6 * 7 })).toBeCloseTo(8, 2);
});

test("sizing: shards are the power of two that plans 500 calls a second, and 5 GB, for each", () => {
  // 300,000 users on a day refresh 400 times: 1,389 a second, 5,556 in the busiest minute, for 11.1 shards; 12.1 GB are for 2.4.
  const busy = sizeFor(1_000_000, 300, { ...defaultHabits, refreshes: 400 });
  expect(busy.peak.refreshes).toBeCloseTo(5555.6, 0);
  expect(busy.refreshShards).toBe(16);
  // 15 million users on a day, each with 31 families of 1,300 bytes: 604.5 GB, for 120.9 shards; 5,556 refreshes a second are for 11.1.
  // 14 sessions of 450 + 2 × 180 bytes, 12.6 of their grants and one of the further code of 460: 263.9 GB, for 52.8 shards; spent codes: 3.6 GB.
  const large = sizeFor(50_000_000, 300);
  expect(storeBytes(50_000_000)).toEqual({ refresh: 604.5e9, session: expect.closeTo(263.94e9, -7), code: 3.6e9 });
  expect([large.refreshShards, large.sessionShards]).toEqual([128, 64]);
  const small = sizeFor(10_000, 10);
  expect([small.refreshShards, small.sessionShards]).toEqual([8, 8]);
});

test.each([10_000, 1_000_000, 10_000_000, 50_000_000])(
  "sizing: %i users fill no object to more than half of its limit",
  (users) => {
    const { refreshShards, sessionShards } = sizeFor(users, 300);
    const { refresh, session, code } = storeBytes(users);
    expect(refresh / refreshShards).toBeLessThanOrEqual(limitBytes / 2);
    expect(Math.max(session, code) / sessionShards).toBeLessThanOrEqual(limitBytes / 2);
  },
);

test("an unknown preset is answered with the list of presets", () => {
  expect(() => loadOf("introspect", "rps0", "hold")).toThrow("smoke, rps100, rps300");
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

  const direct: MonthSettings = {
    ...{ mode: "direct", isolates: 10, shards: 1, leaseMs: 1000, regions: 1, relaysPerRegion: 0, lineShare: 0.1 },
  };

  test("10,000 users a month in `direct` cost 8.33 dollars: 1.78 of it exact checks, 0.41 the audit log, nothing data points", () => {
    const { total, leases, passwords, audit, metrics, logs } = costOfMonth(10_000, direct);
    // 3,000 users on a day, 90,000 days of users. Requests of a day: 124 reads, 8 refreshes, 0.3 revocations, 5 of the sign-in, 2 of the
    // further code: 139.3, 12.537 million in all, 10 million included, at 0.30. Their data points are included.
    // Object calls of a day: 8 + 0.3 + 12 + 3 writes, 2.097 million; 132 checks, 11.88 million; one million included, at 0.15.
    // The shard in use follows the control log every 2.5 s: 1.0368 million calls in 30 days, and 0.324 million alarms, each 8 s.
    // Audit events of a day and user: 2 of the session, 2 codes, 0.2 failures, 0.1 revoked tokens, 0.4 grants: 4.7; 28 tokens, which are
    // 84,000 a day, below the limit of 86,400. 24 objects with 587.5 of the others send one every 148.07 s, which is 14,004 messages a day:
    // 10 s of gathering, and the time until an event comes after its first 9. ControlPlane sends one every 10.03 s: 8,615. 22,619 × 30 = 0.679
    // million messages, in 2.036 million queue operations, one million included, at 0.40; the 20.6 million rows of 2.943 million events, deletions
    // among them, are included.
    // CPU (26.1 million ms), time awake, rows, KV and 1.25 GB of lines are included too.
    expect(audit).toBeCloseTo(1.0357 * 0.4, 4);
    expect(metrics).toBe(0);
    expect(leases).toBeCloseTo(11.88 * 0.15, 5);
    expect([passwords, logs]).toEqual([0, 0]);
    expect(total).toBeCloseTo(5 + 2.537 * 0.3 + (12.977 + 1.0368 + 0.324) * 0.15 + 1.0357 * 0.4, 4);
  });

  test("a million users: 301.89 dollars for the audit log, which without an archive fills its database in 10.96 days, and 26.79 for data points", () => {
    const { audit, storage, metrics } = costOfMonth(1_000_000, { ...direct, isolates: 100 });
    // 300,000 × 4.7 events, and no more than 86,400 tokens: 1,496,400 a day, 44.892 million a month. 24 objects gather theirs
    // for 10.0033 s and ControlPlane for 10.0001 s: 215,933 messages a day, 6.478 million a month, three queue operations each, one million
    // included, at 0.40. Six rows of each event when it is written and one when it is deleted, at 1.00, and 3 of each of 9 million sign-ins: 50
    // million are included, of which those use 27.
    // Stored: 8 million recent events of 610 bytes and a year of 299.28 segments a day of 4,200, beside 2.5 GB of users, of which 5 GB are
    // included; in R2, 10 GB are.
    const stored = 8 * 0.61 + (299.28 * 365 * 4_200) / 1e9;
    const archived = (1.4964 * 365 - 8) * 0.16 - 10;
    expect(audit).toBeCloseTo(
      (3 * 6.47799 - 1) * 0.4 + (7 * 44.892 + 27 - 50) + (stored + 2.5 - 5) * 0.75 + archived * 0.015,
      4,
    );
    // 12.09 GB of refresh families, 5.28 of sessions and 0.07 of codes, of which 5 GB are included.
    expect(storage).toBeCloseTo(2.5 * 0.75 + (12.09 + 5.2788 + 0.072 - 5) * 0.2, 3);
    // 9 million days of users in 4.32 million minutes of isolates: 2.083 each. A kind of n requests a minute of four clients is 4 (1 − e^(−n / 4))
    // points: all 4 of introspections and exchanges, 3.502 of userinfo, 3.938 of refreshes, 2.588 of codes, 0.579 of revocations, 1.624 of each of
    // five pages and redirects, 0.396 of failures: 27.12. A point for each of 1,253.7 million requests would cost 310.93 dollars.
    expect(metrics).toBeCloseTo((4.32 * 27.123 - 10) * 0.25, 2);
    expect(metrics).toBeLessThan(310.93 / 10);
    // An isolate with ten requests a minute or less gathers none: 12.537 million of 10,000 users.
    expect(costOfMonth(10_000, { ...direct, isolates: 100 }).metrics).toBeCloseTo(2.537 * 0.25, 5);
    // 1,496,400 × 610 bytes = 0.913 GB a day.
    expect(auditDaysUntilFull(1_000_000)).toBeCloseTo(10.955, 2);
  });

  const costOfLines = (gigabytes: number) => (gigabytes - 50) * 0.25 + ((gigabytes * 7) / 30 - 12) * 0.1;

  test.each([
    // 125.37 million requests of 100,000 users, at 1 KB a line; 50 GB are included, and 12 GB-months, of which each GB uses 7 / 30.
    ["a line of each request", 100_000, 30, 1, costOfLines(125.37)],
    // 12,537 million requests; 300 isolates write 10 lines a second at most: 7,776 million in 30 days.
    ["no more lines than isolates may write", 10_000_000, 300, 1, costOfLines(7776)],
    ["a line of each tenth request", 10_000_000, 300, 0.1, costOfLines(1253.7)],
    // 12.5 GB are included.
    ["few lines", 100_000, 30, 0.1, 0],
  ])("logs: %s of %i users", (_, users, isolates, lineShare, cost) => {
    expect(costOfMonth(users, { ...direct, isolates, lineShare }).logs).toBeCloseTo(cost, 5);
  });

  test("the parts of a cost are within the total", () => {
    for (const users of [10_000, 1_000_000]) {
      const { total, leases, passwords, audit, storage, metrics, logs } = sizeFor(users, 100).cost;
      expect(leases + passwords + audit + storage + metrics + logs).toBeLessThan(total);
    }
  });

  test("the tables of sizing agree: leases by isolates, and the months and metrics now", () => {
    const page = readFileSync(new URL("../../docs/operating/sizing.md", import.meta.url), "utf8");
    const rowsOf = (name: string) =>
      readTable(page, name)!
        .split("\n")
        .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")));
    const [head, , ...sizing] = rowsOf("sizing");
    const column = (name: string) => head!.indexOf(name);
    const [leaseHead, , ...leases] = rowsOf("lease-cost");
    const savings = rowsOf("savings").slice(2);
    let compared = 0;
    for (const row of sizing) {
      const [users, isolates] = row;
      const ofLeases = leases.find((cells) => cells[0] === isolates)?.[leaseHead!.indexOf(`${users} users a month`)];
      if (ofLeases !== undefined) {
        compared += 1;
        expect(ofLeases.split(" (")[0]).toBe(row[column("leases")]);
      }
      const saved = savings.find((cells) => cells[0] === users);
      if (saved === undefined) continue;
      compared += 1;
      const names = ["metrics", "a month", "APIs verify tokens themselves"];
      expect([saved[2], saved[4], saved[6]]).toEqual(names.map((name) => row[column(name)]));
    }
    expect(compared).toBe(7);
  });

  test("the busiest minute of a million users: 1,722 reads, 111 refreshes, 14 sign-ins a second", () => {
    // 300,000 on a day, 13.889 a second for each thing that a user does once, four times the mean included. A sign-in is 5 requests, a
    // further code 2.
    const { reads, refreshes, signIns, total } = peakOf(1_000_000);
    expect(reads).toBeCloseTo(13.8889 * 124, 0);
    expect(refreshes).toBeCloseTo(13.8889 * 8, 0);
    expect(signIns).toBeCloseTo(13.8889, 3);
    expect(total).toBeCloseTo(13.8889 * (124 + 8 + 5 + 2), 1);
  });

  test("leases cost at most 10 dollars or a fifth of the rest at 100,000 users a month with up to 30 isolates", () => {
    for (const isolates of [4, 10, 30]) {
      const { leases, total } = sizeFor(100_000, isolates).cost;
      expect(leases).toBeLessThanOrEqual(Math.max(10, (total - leases) / 5));
    }
  });

  test("if an isolate serves less than one request per lease, `direct` is recommended, because leases cannot be cheaper", () => {
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
});

describe("sign-ins", () => {
  test.each([
    // D1: 3 queries of 1 ms each, half of its time is planned. A session shard: 5 calls, 500 are planned.
    [100, 8, { callsPerSessionShard: 62.5, callsPerCodeShard: 25, database: 0.3, limitedBy: "nothing" }],
    [150, 1, { callsPerSessionShard: 750, callsPerCodeShard: 300, database: 0.45, limitedBy: "session shards" }],
    [1000, 16, { callsPerSessionShard: 312.5, callsPerCodeShard: 125, database: 3, limitedBy: "D1" }],
  ])("%i a second by %i shards", (rate, shards, expected) => {
    expect(signInLoad(rate, shards)).toMatchObject(expected);
  });

  test("1,000 a second need 15 processors, and 219 more for passwords", () => {
    const { isolatesWithoutPasswords, isolatesWithPasswords } = signInLoad(1000, 16);
    expect([isolatesWithoutPasswords, isolatesWithPasswords]).toEqual([15, 234]);
  });
});
