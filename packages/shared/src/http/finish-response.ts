import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import type { CallCounts } from "./count-calls.ts";
import { type EndpointResponse, JsonResponse, noStore } from "./json-response.ts";
import type { RequestContext } from "./request-context.ts";
import { type ObservedRequest, requestMetricsOf } from "./request-metrics.ts";
import { securityHeaders } from "./response-headers.ts";

type HeaderRecord = Readonly<Record<string, string>>;

const none: HeaderRecord = {};
const json = { "Content-Type": "application/json" } as const;

type Finished = Pick<RequestContext<unknown>, "counts" | "settings" | "requestId"> &
  (ObservedContext | { readonly endpoint: undefined; readonly progress?: undefined });

/**
 * **The last step of every Worker**: adds security headers, `more` and, if the deployment enables `SERVER_TIMING`, the storage calls of the request
 * and the rows that they read in D1. A count is a metric's `dur`, its one numeric member (docs/reference/endpoints.md#server-timing). A `Response` is
 * changed in place, because copying one costs as much as creating it.
 *
 * @see https://www.w3.org/TR/server-timing/#the-server-timing-header-field
 */
export function finishResponse(context: Finished, response: EndpointResponse, more: HeaderRecord = none): Response {
  const { settings, progress } = context;
  const security = securityHeaders(settings);
  const counts = settings.serverTiming ? context.counts : undefined;
  const requestId = response.status >= 400 ? context.requestId : undefined;
  const varying = varyingHeaders(counts, progress?.dpopNonce, requestId);
  if (context.endpoint !== undefined) observeRequest(context, context.endpoint, response);
  if (!(response instanceof JsonResponse)) {
    const { headers } = response;
    for (const [name, value] of Object.entries({ ...security, ...more, ...varying })) headers.set(name, value);
    return response;
  }
  const { body, status, text } = response;
  const headers =
    varying === undefined && (status === 200 || status === 304)
      ? successHeaders(security, more, response.headers)
      : { ...json, ...security, ...more, ...varying, ...noStore, ...response.headers };
  return new Response(status === 304 ? null : (text ?? JSON.stringify(body)), { status, headers });
}

/** Each metric names its unit, because `dur` is not a time here. */
function serverTiming({ object, kv, d1, rows }: CallCounts): string {
  const calls = Object.entries({ object, kv, d1 }).map(([store, count]) => `${store};dur=${count};desc="calls"`);
  return [...calls, `rows;dur=${rows ?? 0};desc="rows read in D1"`].join(", ");
}

/** The headers that differ from response to response. */
function varyingHeaders(
  counts: RequestContext<unknown>["counts"],
  dpopNonce: string | undefined,
  requestId: string | undefined,
): HeaderRecord | undefined {
  if (counts === undefined && dpopNonce === undefined && requestId === undefined) return undefined;
  return {
    ...(counts === undefined ? none : { "Server-Timing": serverTiming(counts) }),
    ...(dpopNonce === undefined ? none : { "DPoP-Nonce": dpopNonce }),
    ...(requestId === undefined ? none : { "Request-Id": requestId }),
  };
}

/**
 * Serialized headers by the records that they consist of, most of which are constants: a `Response` copies them, which costs a third of building
 * them.
 */
const built = new WeakMap<HeaderRecord, WeakMap<HeaderRecord, WeakMap<HeaderRecord, Headers>>>();

function successHeaders(security: HeaderRecord, more: HeaderRecord, own: HeaderRecord): Headers {
  const known = built.get(own)?.get(more)?.get(security);
  if (known !== undefined) return known;
  const headers = new Headers({ ...json, ...security, ...more, ...noStore, ...own });
  const byMore = built.get(own) ?? new WeakMap<HeaderRecord, WeakMap<HeaderRecord, Headers>>();
  const bySecurity = byMore.get(more) ?? new WeakMap<HeaderRecord, Headers>();
  built.set(own, byMore.set(more, bySecurity.set(security, headers)));
  return headers;
}

type ObservedContext = Pick<
  RequestContext<unknown>,
  | "endpoint"
  | "method"
  | "arrivedAtMs"
  | "progress"
  | "counts"
  | "isSampled"
  | "metrics"
  | "requestId"
  | "traceId"
  | "waitUntil"
>;

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * **The one log line of a request, and its place in a data point** (docs/operating/monitor.md). Built from the route, the response's status and error
 * code, and ids that were verified: nothing that the caller chose, and so neither secrets nor personal data. Cost of a successful request that is not
 * sampled: a comparison and, if the binding exists, an addition.
 */
export function observeRequest(context: ObservedContext, endpoint: string, response: EndpointResponse): void {
  const { metrics, isSampled, counts, progress } = context;
  const { status } = response;
  if (status < 400 && !isSampled && metrics === undefined) return;
  const method = methods.has(context.method ?? "") ? context.method! : "other";
  const outcome = outcomeOf(status);
  const code = status < 400 ? undefined : codeOf(response);
  const { clientId, failedHook } = progress;
  const atMs = nowMs();
  const durationMs = atMs - context.arrivedAtMs;
  if (metrics !== undefined) {
    const observed = { endpoint, method, status, outcome, code, clientId, failedHook, durationMs, calls: counts };
    requestMetricsOf(metrics).count(observed, atMs, context.waitUntil);
  }
  if (status < 400 && !isSampled) return;
  const calls = counts && `object=${counts.object} kv=${counts.kv} d1=${counts.d1} rows=${counts.rows}`;
  const { requestId, traceId } = context;
  log("request", { endpoint, method, status, outcome, code, clientId, durationMs, calls, requestId, traceId });
}

function outcomeOf(status: number): ObservedRequest["outcome"] {
  if (status < 400) return "ok";
  if (status < 500) return "refused";
  return status === 503 ? "unavailable" : "failed";
}

/** Pages have no error code. */
function codeOf(response: EndpointResponse): string | undefined {
  const { body } = response;
  if (!(response instanceof JsonResponse) || typeof body !== "object" || body === null) return undefined;
  return "error" in body && typeof body.error === "string" ? body.error : undefined;
}
