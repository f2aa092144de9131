/** **The calculated tables**, in milliseconds; a test compares them with the pages. */

import { count, milliseconds, percent, table } from "../lib/format.ts";
import { storedReport } from "../lib/stored-report.ts";
import { dayTables } from "./days.ts";
import { type HotRecord, hotChange, secondsOf, tokenReports } from "./hot-changes.ts";
import { fleetOfMeasurement, type LeaseMeasurement } from "./lease-report.ts";
import { d1ReadsPerSecond, defaultFleet, type LeaseFleet, leaseLoad, replicaOf, writeWait } from "./leases.ts";
import type { Tables } from "./pages.ts";
import { signInLoad, signInWork } from "./sign-in.ts";
import { relaysWithinPlan } from "./sizing.ts";
import { sizingTables } from "./sizing-tables.ts";
import { comparedWork, type StoreReport } from "./store-report.ts";

const isolateCounts = [300, 1000, 5000, 30_000];
const fixedLease = { longestLeaseMs: defaultFleet.leaseMs };

const seconds = (ms: number) => (ms < 1000 ? `${count(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

function withRelays(fleet: LeaseFleet): LeaseFleet {
  return { ...fleet, relaysPerRegion: relaysWithinPlan((relaysPerRegion) => leaseLoad({ ...fleet, relaysPerRegion })) };
}

function leases(): string {
  const rowOf = (name: string, fleet: LeaseFleet) => {
    const load = leaseLoad(fleet);
    const wait = writeWait(fleet);
    return [
      count(fleet.isolates),
      name,
      count(load.leaseMs),
      load.callsPerIsolate.toFixed(1),
      count(load.callsPerSecond),
      count(load.busiestShard),
      load.relays === 0 ? "" : count(load.busiestRelay),
      seconds(wait.withoutFaultsMs),
      seconds(wait.withLostIsolateMs),
    ];
  };
  const rows = isolateCounts.flatMap((isolates) => {
    const fleet = { ...defaultFleet, isolates };
    const relayed = withRelays(fleet);
    const relays = relayed.relaysPerRegion * relayed.regions;
    return [
      rowOf("direct, leases of 1 s", { ...fleet, ...fixedLease }),
      rowOf("direct, longer under pressure", fleet),
      rowOf(`${relays} relays`, relayed),
    ];
  });
  return table(
    [
      "isolates",
      "leases",
      "lease ms",
      "calls/s of an isolate",
      "calls/s in all",
      "busiest shard",
      "busiest relay",
      "confirmed write: all confirm",
      "one isolate lost",
    ],
    rows,
  );
}

function quiet(): string {
  const rows = isolateCounts.map((isolates) => {
    const fleet = { ...defaultFleet, isolates, revocationsPerSecond: 0, changesPerSecond: 0 };
    const relayed = withRelays(fleet);
    const direct = leaseLoad({ ...fleet, ...fixedLease });
    const load = leaseLoad(relayed);
    return [
      count(isolates),
      count(direct.callsPerSecond),
      count(direct.busiestShard),
      count(load.relays),
      count(load.callsPerSecond),
      count(Math.max(load.busiestRelay, load.busiestShard)),
      load.callsPerIsolate.toFixed(1),
    ];
  });
  return table(
    [
      "isolates",
      "direct: calls/s",
      "busiest object",
      "relays",
      "with relays: calls/s",
      "busiest object",
      "of an isolate",
    ],
    rows,
  );
}

/** The stored run and the model for the same isolates, relays and rate. */
function measuredLeases(): string {
  const { measurements } = storedReport<{ readonly measurements: readonly LeaseMeasurement[] }>("leases");
  const sorted = measurements.toSorted(
    (a, b) => a.relays - b.relays || a.isolates - b.isolates || a.ratePerIsolate - b.ratePerIsolate,
  );
  const rows = sorted.map((measured) => {
    const { isolates, relays, ratePerIsolate, callsPerSecond, busiestShard, busiestRelay } = measured;
    const load = leaseLoad(fleetOfMeasurement(measured));
    const compared = (of: number, model: number) => [of.toFixed(1), model.toFixed(1), percent(model / of - 1)];
    return [
      count(isolates),
      relays === 0 ? "none" : count(relays),
      count(ratePerIsolate),
      ...compared(callsPerSecond, load.callsPerSecond),
      ...compared(busiestShard, load.busiestShard),
      ...(relays === 0 ? ["", "", ""] : compared(busiestRelay, load.busiestRelay)),
    ];
  });
  return table(
    [
      "isolates",
      "relays",
      "requests/s of each",
      "calls/s in all: measured",
      "model",
      "difference",
      "busiest shard: measured",
      "model",
      "difference",
      "relay: measured",
      "model",
      "difference",
    ],
    rows,
  );
}

function replicas(): string {
  const rows = [500, 10_000, 100_000, 1_000_000].map((rowsPerShard) => {
    const fleet = { ...defaultFleet, isolates: 1000, rowsPerShard };
    const direct = replicaOf(fleet);
    const relayed = replicaOf(withRelays(fleet));
    return [
      count(rowsPerShard),
      direct.isFilter ? "a filter, 10.2 bits a row" : "every row",
      `${(direct.snapshotBytes / 1e6).toFixed(1)} MB`,
      `${direct.coldStartSeconds.toFixed(1)} s`,
      `${relayed.coldStartSeconds.toFixed(1)} s`,
      direct.callsPerRead === 0 ? "0" : direct.callsPerRead.toFixed(4),
    ];
  });
  return table(
    [
      "live rows a shard",
      "an isolate receives",
      "for 8 shards",
      "1,000 cold isolates, from the shards",
      "from relays",
      "calls per read",
    ],
    rows,
  );
}

function database(): string {
  const isolateLifeSeconds = 3600;
  const rows = isolateCounts.map((isolates) => {
    const reads = d1ReadsPerSecond({ ...defaultFleet, isolates, changesPerSecond: 0.2 }, isolateLifeSeconds);
    return [count(isolates), count(reads.before), reads.now.toFixed(1)];
  });
  return table(["isolates", "D1 reads/s when isolates read what had changed", "now"], rows);
}

function signIns(): string {
  const rows = [10, 100, 1000].flatMap((rate) =>
    [8, 16].map((shards) => {
      const load = signInLoad(rate, shards);
      return [
        count(rate),
        String(shards),
        count(load.callsPerSessionShard),
        count(load.callsPerCodeShard),
        `${Math.round(load.database * 100)} %`,
        milliseconds(load.isolatesWithoutPasswords),
        milliseconds(load.isolatesWithPasswords),
        load.limitedBy,
      ];
    }),
  );
  return table(
    [
      "sign-ins/s",
      "shards of each store",
      "calls/s: a session shard",
      "a code shard",
      "D1",
      "busy isolates without passwords",
      `with passwords (${signInWork.passwordCpuMs} ms)`,
      "above its plan",
    ],
    rows,
  );
}

function hot(): string {
  const rows = isolateCounts.map((isolates) => {
    const fleet = withRelays({ ...defaultFleet, isolates });
    const of = (record: HotRecord, carries: boolean) => hotChange(fleet, record, carries);
    const { unpaced, paced } = tokenReports(isolates);
    return [
      count(isolates),
      count(fleet.relaysPerRegion * fleet.regions),
      `${count(of("client", false).d1Reads)} (${seconds(1000 * secondsOf(of("client", false).d1Reads))}) / ${of("client", true).d1Reads}`,
      `${count(of("keys", false).keyManagerCalls)} / ${of("keys", true).keyManagerCalls}`,
      `${count(of("generations", false).d1Reads)} / ${count(of("generations", true).d1Reads)}`,
      `${(of("keys", true).bytesSent / 1e6).toFixed(1)} MB`,
      `${count(unpaced)} / ${count(paced)}`,
    ];
  });
  return table(
    [
      "isolates",
      "relays",
      "a client: D1 reads, without / with its record",
      "keys: KeyManager calls, without / with",
      "a generation: D1 reads, without / with",
      "keys: sent by the busiest relay",
      "token reports/s, unpaced / paced",
    ],
    rows,
  );
}

/** The load per shard for a rate that a deployment with these shards sustains. */
const plans = {
  "sign-in": { what: "1,000 sign-ins/s by 16 shards", perShard: 1000 / 16 },
  code: { what: "1,000 codes/s by 16 shards", perShard: 1000 / 16 },
  refresh: { what: "10,000 refreshes/s by 48 shards", perShard: 10_000 / 48 },
} as const;

/** The stored run of measure-stores.ts, with one shard each, and the model's figures for one operation. */
function stores(): string {
  const { measurements } = storedReport<StoreReport>("stores");
  const ofOneShard = measurements.filter(
    ({ shards, operation }) => shards[operation === "refresh" ? "refresh" : "session"] === 1,
  );
  const rows = ofOneShard.map((measured) => {
    const { what, perShard } = plans[measured.operation];
    const work = comparedWork(measured);
    const pair = (of: { readonly modelled: number; readonly measured: number }) =>
      `${of.modelled.toFixed(0)} / ${of.measured.toFixed(2)}`;
    return [
      measured.operation,
      `${what}: ${count(perShard)}`,
      `${measured.rate} / ${measured.perSecond.toFixed(0)}`,
      pair(work.calls),
      pair(work.rowsWritten),
      pair(work.d1Queries),
      milliseconds(measured.workersCpuMs),
      milliseconds(measured.objectsCpuMs),
      milliseconds(measured.p50),
      milliseconds(measured.p99),
    ];
  });
  return table(
    [
      "operation",
      "planned: of one shard a second",
      "run: rate/s, planned / reached",
      "object calls of one: model / run",
      "rows written",
      "D1 queries",
      "Worker CPU ms",
      "object CPU ms",
      "p50 ms",
      "p99 ms",
    ],
    rows,
  );
}

export const calculatedTables: Readonly<Record<string, Tables>> = {
  "docs/operating/sizing.md": { ...sizingTables, ...dayTables },
  "load-tests/reports/model/model.md": {
    leases,
    quiet,
    measured: measuredLeases,
    replicas,
    database,
    hot,
    stores,
    "sign-ins": signIns,
  },
};
