/**
 * **Observes a local provider like an operator**: collects the spans that the runtime records for each request, and the data points of `METRICS`,
 * which the runtime would drop. They are kept in memory until the provider stops.
 */

import type { Miniflare, V4WorkerOptions } from "miniflare";
import { callHelper } from "./runtime-process.ts";

export interface DataPoint {
  readonly indexes: readonly string[];
  readonly blobs: readonly string[];
  readonly doubles: readonly number[];
}

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  /** The name of the Worker. */
  readonly service: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

const observerName = "observer";
/** Miniflare's own Worker, which stores the spans in a database. */
const collectorName = "miniflare-observability-collector";

const source = `import { WorkerEntrypoint } from "cloudflare:workers";
const points = [];
export class Metrics extends WorkerEntrypoint {
  writeDataPoint(point) { points.push(point); }
}
export default {
  fetch(request, env) {
    return new URL(request.url).pathname === "/points" ? Response.json(points) : env.COLLECTOR.fetch(request);
  },
};`;

/** Adds the observer, and binds it where a Worker writes data points. */
export function withObserver(workers: readonly V4WorkerOptions[]): V4WorkerOptions[] {
  const observed = workers.map(
    ({ analyticsEngineDatasets, ...worker }): V4WorkerOptions => ({
      ...worker,
      serviceBindings: {
        ...worker.serviceBindings,
        ...Object.fromEntries(
          Object.keys(analyticsEngineDatasets ?? {}).map((name) => [
            name,
            { name: observerName, entrypoint: "Metrics" },
          ]),
        ),
      },
    }),
  );
  const observer: V4WorkerOptions = {
    name: observerName,
    modules: [{ type: "ESModule", path: "index.js", contents: source }],
    compatibilityDate: "2026-10-20",
    serviceBindings: { COLLECTOR: collectorName },
  };
  return [...observed, observer];
}

export async function readDataPoints(runtime: Miniflare): Promise<readonly DataPoint[]> {
  return (await callHelper(runtime, observerName, "/points")) as readonly DataPoint[];
}

export async function readSpans(runtime: Miniflare): Promise<readonly Span[]> {
  const sql = "SELECT trace_id, span_id, parent_id, service, name, json(attributes) FROM spans ORDER BY start_ms";
  const { rows } = (await callHelper(runtime, observerName, "/query", { sql })) as {
    readonly rows: readonly (string | null)[][];
  };
  return rows.map(([traceId, spanId, parentId, service, name, attributes]) => ({
    traceId: traceId!,
    spanId: spanId!,
    parentId: parentId ?? null,
    service: service!,
    name: name!,
    attributes: JSON.parse(attributes ?? "{}") as Record<string, unknown>,
  }));
}
