import { defaultFleet, type LeaseFleet } from "./leases.ts";

/** **A measurement of measure-leases.ts**: a number of isolates, with leases from the shards or from relays. */
export interface LeaseMeasurement {
  readonly isolates: number;
  readonly relays: number;
  readonly ratePerIsolate: number;
  readonly leaseMs: number;
  readonly shards: number;
  /** The share of a lease for which relays held renewals. */
  readonly relayShare: number;
  /** Object calls per second while nothing is revoked: in total, of the busiest object of each class, and by method. */
  readonly callsPerSecond: number;
  readonly busiestShard: number;
  readonly busiestRelay: number;
  readonly methods: Readonly<Record<string, number>>;
  readonly revoke: Latency;
  readonly change: Latency;
  /** D1 queries of one isolate for one change to a record that it does not use; absent with a single isolate. */
  readonly d1ReadsPerChange: number | undefined;
  readonly failures: number;
  readonly violations: number;
}

export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

/** The model's fleet for a measurement; nothing is revoked while calls are counted. */
export function fleetOfMeasurement(measured: LeaseMeasurement): LeaseFleet {
  return {
    ...defaultFleet,
    isolates: measured.isolates,
    requestsPerIsolate: measured.ratePerIsolate,
    shards: measured.shards,
    leaseMs: measured.leaseMs,
    regions: 1,
    relaysPerRegion: measured.relays,
    relayShare: measured.relayShare,
    revocationsPerSecond: 0,
    changesPerSecond: 0,
  };
}
