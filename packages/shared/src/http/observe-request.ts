import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { type EndpointResponse, JsonResponse } from "./json-response.ts";
import type { RequestContext } from "./request-context.ts";

export type ObservedContext = Pick<
  RequestContext<unknown>,
  "endpoint" | "method" | "arrivedAtMs" | "progress" | "counts" | "isSampled" | "metrics" | "requestId" | "traceId"
>;

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * **The one log line and the one data point of a request** (docs/operating/monitor.md). Built from the route, the response's status and error code,
 * and ids that were verified: nothing that the caller chose, and so neither secrets nor personal data. Cost of a successful request that is not
 * sampled: a comparison, and the data point if the binding exists.
 */
export function observeRequest(context: ObservedContext, endpoint: string, response: EndpointResponse): void {
  const { metrics, isSampled, counts, progress } = context;
  const { status } = response;
  if (status < 400 && !isSampled && metrics === undefined) return;
  const method = methods.has(context.method ?? "") ? context.method! : "other";
  const outcome = outcomeOf(status);
  const code = status < 400 ? undefined : codeOf(response);
  const { clientId, failedHook } = progress;
  const durationMs = nowMs() - context.arrivedAtMs;
  metrics?.writeDataPoint({
    indexes: [endpoint],
    blobs: [endpoint, method, outcome, code ?? "", clientId ?? "", ...(failedHook === undefined ? [] : [failedHook])],
    doubles: [durationMs, status, counts?.object ?? -1, counts?.kv ?? -1, counts?.d1 ?? -1],
  });
  if (status < 400 && !isSampled) return;
  const calls = counts && `object=${counts.object} kv=${counts.kv} d1=${counts.d1} rows=${counts.rows}`;
  const { requestId, traceId } = context;
  log("request", { endpoint, method, status, outcome, code, clientId, durationMs, calls, requestId, traceId });
}

function outcomeOf(status: number): "ok" | "refused" | "unavailable" | "failed" {
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
