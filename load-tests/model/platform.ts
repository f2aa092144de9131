/**
 * **The documented limits of Cloudflare** that the model uses. Limits change: each line cites its source, and the model's results
 * scale with them.
 */
export const platform = {
  /** Soft limit of one object, requests a second. @see https://developers.cloudflare.com/durable-objects/platform/limits/#how-much-work-can-a-single-durable-object-do */
  objectCallsPerSecond: 1000,
  /** A database runs one query at a time: 1 ms a query is 1,000 a second. @see https://developers.cloudflare.com/d1/platform/limits/ */
  d1QueryMs: 1,
  /** Memory billed for an active object, in GB, regardless of its use. @see https://developers.cloudflare.com/durable-objects/platform/pricing/ */
  objectGigabytes: 0.128,
} as const;

/** The lease protocol's own limits (docs/reference/protocols.md §2), and its work as measured (reports/leases). */
export const leaseWork = {
  /** Renewals per second above which a server grants longer leases. */
  renewalsPerSecond: 400,
  longestLeaseMs: 10_000,
  /** Responses per second that news causes at one server. */
  wakesPerSecond: 500,
  /** One wake-up per 25 ms. */
  mostWakesOfHolder: 40,
  /** The maximum number of rows that are sent with their keys; more are sent as a filter. */
  listedRows: 500,
  bytesPerListedRow: 60,
  filterBitsPerRow: 10.2,
  /** The rate at which a filter is wrong about a row that it does not contain. */
  filterErrors: 1 / 512,
  /** Bytes per second that one server sends to isolates without a replica. */
  snapshotBytesPerSecond: 32 * 1024 * 1024,
  /** One confirmation at a server on Cloudflare: the soft limit of an object. */
  confirmMs: 1,
  /** CPU of one renewal in the Worker. */
  renewalCpuMs: 0.2,
  d1ReadsOfColdIsolate: 3,
  /** For a warm isolate and a change that affects none of its records. It was 3 to 8 when isolates read the changes. */
  d1ReadsPerChange: 0,
  d1ReadsPerChangeBefore: 4,
} as const;

/**
 * **Prices in US dollars, and the amounts included in the $5 plan per month**, as published on 22 November 2026. A call through a service binding is
 * no extra request. Each RPC call of an object is a request.
 *
 * @see https://developers.cloudflare.com/workers/platform/pricing/
 * @see https://developers.cloudflare.com/durable-objects/platform/pricing/
 * @see https://developers.cloudflare.com/queues/platform/pricing/
 * @see https://developers.cloudflare.com/observability/pricing/ (from 1 December 2026; until then $0.60 per million log events beyond 20 million)
 * @see https://developers.cloudflare.com/analytics/analytics-engine/pricing/
 * @see https://developers.cloudflare.com/d1/platform/pricing/
 * @see https://developers.cloudflare.com/r2/pricing/
 */
export const prices = {
  planPerMonth: 5,
  workerRequests: { included: 10e6, perMillion: 0.3 },
  workerCpuMs: { included: 30e6, perMillion: 0.02 },
  objectRequests: { included: 1e6, perMillion: 0.15 },
  objectGigabyteSeconds: { included: 400_000, perMillion: 12.5 },
  /** Rows of SQLite objects. */
  rowsRead: { included: 25e9, perMillion: 0.001 },
  rowsWritten: { included: 50e6, perMillion: 1 },
  d1RowsRead: { included: 25e9, perMillion: 0.001 },
  d1RowsWritten: { included: 50e6, perMillion: 1 },
  kvReads: { included: 10e6, perMillion: 0.5 },
  kvWrites: { included: 1e6, perMillion: 5 },
  /** Each message is written, read and deleted. */
  queueOperations: { included: 1e6, perMillion: 0.4 },
  /** $0.25 per GB. */
  logBytes: { included: 50e9, perMillion: 0.25e-3 },
  /** $0.10 per GB and month; lines are kept for seven days. */
  logByteMonths: { included: 12e9, perMillion: 0.1e-3 },
  /** Bytes stored for a month: $0.75 per GB of D1, $0.20 of objects, $0.015 of R2. */
  d1ByteMonths: { included: 5e9, perMillion: 0.75e-3 },
  objectByteMonths: { included: 5e9, perMillion: 0.2e-3 },
  r2ByteMonths: { included: 10e9, perMillion: 0.015e-3 },
  /** Class A and class B. */
  r2Writes: { included: 1e6, perMillion: 4.5 },
  r2Reads: { included: 10e6, perMillion: 0.36 },
  /** Data points of `METRICS`. */
  analyticsPoints: { included: 10e6, perMillion: 0.25 },
} as const;
