import { defaultFleet, type LeaseFleet } from "./leases.ts";

/** **A measurement of measure-leases.ts**: so many isolates, directly at the shards or behind so many relays. */
export interface LeaseMeasurement {
  readonly isolates: number;
  readonly relays: number;
  readonly ratePerIsolate: number;
  readonly leaseMs: number;
  readonly shards: number;
  /** For which share of a lease the relays held renewals. */
  readonly relayShare: number;
  /** Object calls a second while nothing is revoked: in all, of the busiest object of each class, by method. */
  readonly callsPerSecond: number;
  readonly busiestShard: number;
  readonly busiestRelay: number;
  readonly methods: Readonly<Record<string, number>>;
  readonly revoke: Latency;
  readonly change: Latency;
  /** D1 queries of one isolate for one change of a record that it does not use; none with a single isolate. */
  readonly d1ReadsPerChange: number | undefined;
  readonly failures: number;
  readonly violations: number;
}

export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

/** The model's fleet of a measurement; nothing is revoked while calls are counted. */
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
