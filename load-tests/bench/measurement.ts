/** **One server under one load.** */
export interface Measurement {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Of the runtime, all its threads, for each request; absent where /proc is. */
  readonly cpuMicros: number | undefined;
}
