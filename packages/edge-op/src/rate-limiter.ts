/**
 * **The rate limiter of a local provider**, as the platform documents it: a counter in memory for each key and period, with `delta`. Miniflare's own
 * does not accept `delta` and writes each count into a database, so that every report of a Worker would be 16 writes.
 */

import type { V4WorkerOptions } from "miniflare";

const limiterName = "local-rate-limiter";

const source = `import { WorkerEntrypoint } from "cloudflare:workers";
const windows = new Map();
export class RateLimiter extends WorkerEntrypoint {
  limit({ key = "", delta = 1 }) {
    const { namespace, limit, period } = this.ctx.props;
    const number = Math.floor(Date.now() / (period * 1000));
    if (windows.get(namespace)?.number !== number) windows.set(namespace, { number, counts: new Map() });
    const { counts } = windows.get(namespace);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + delta);
    return { success: count < limit };
  }
}
export default { fetch: () => new Response(null, { status: 404 }) };`;

/** Adds the limiter, and binds it to every Worker that has a rate limit. */
export function withRateLimiter(workers: readonly V4WorkerOptions[]): V4WorkerOptions[] {
  const limited = workers.map(
    ({ ratelimits, ...worker }): V4WorkerOptions => ({
      ...worker,
      serviceBindings: {
        ...worker.serviceBindings,
        ...Object.fromEntries(
          Object.entries(ratelimits ?? {}).map(([name, { namespace_id, simple }]) => [
            name,
            { name: limiterName, entrypoint: "RateLimiter", props: { namespace: namespace_id, ...simple } },
          ]),
        ),
      },
    }),
  );
  const limiter: V4WorkerOptions = {
    name: limiterName,
    modules: [{ type: "ESModule", path: "index.js", contents: source }],
    compatibilityDate: "2026-10-20",
  };
  return [...limited, limiter];
}
