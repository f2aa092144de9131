/**
 * **The documented limits of Cloudflare** that the model uses. Limits change: each line cites its source, and the model's results
 * scale with them.
 */
export const platform = {
  /** Soft limit of one object, requests a second. @see https://developers.cloudflare.com/durable-objects/platform/limits/#how-much-work-can-a-single-durable-object-do */
  objectCallsPerSecond: 1000,
  /** A database runs one query at a time: 1 ms a query is 1,000 a second. @see https://developers.cloudflare.com/d1/platform/limits/ */
  d1QueryMs: 1,
  /** Writes to one KV key. @see https://developers.cloudflare.com/kv/platform/limits/ */
  kvWritesPerKeyPerSecond: 1,
  /** Memory that an object is billed for while it is active, in GB. @see https://developers.cloudflare.com/durable-objects/platform/pricing/ */
  objectGigabytes: 0.128,
} as const;

/**
 * **Prices in US dollars, and what the $5 plan includes each month.** A call through a service binding is no extra request.
 *
 * @see https://developers.cloudflare.com/workers/platform/pricing/
 */
export const prices = {
  planPerMonth: 5,
  workerRequests: { included: 10e6, perMillion: 0.3 },
  workerCpuMs: { included: 30e6, perMillion: 0.02 },
  objectRequests: { included: 1e6, perMillion: 0.15 },
  objectGigabyteSeconds: { included: 400_000, perMillion: 12.5 },
  rowsRead: { included: 25e9, perMillion: 0.001 },
  rowsWritten: { included: 50e6, perMillion: 1 },
  kvReads: { included: 10e6, perMillion: 0.5 },
  kvWrites: { included: 1e6, perMillion: 5 },
} as const;
