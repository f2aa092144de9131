import { JsonResponse } from "@edge-op/shared/http/json-response";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { ManagementEnv } from "@edge-op/workers/env";
import { authorizeAdmin } from "../admin/authorize-admin.ts";
import type { ManagementIsolate } from "../isolate.ts";
import type { ReadinessChecks } from "./check-readiness.ts";

/**
 * **`GET /ready`**: 200 if this deployment can decide requests, else 503 with `Retry-After`. With an access token that has the scope `admin:shards`,
 * the response contains the result of each check; without one, only its status is informative. Cost: at most one check per isolate and five seconds
 * (check-readiness.ts). `GET /health` only shows that the front door runs, and accesses no store.
 */
export async function readinessEndpoint(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  checks: ReadinessChecks,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  const isDetailed = request.headers.has("authorization");
  if (isDetailed) await authorizeAdmin(context, isolate, request, "admin:shards");
  const readiness = await checks.check(context, isolate);
  const body = { status: readiness.ready ? "ready" : "unready", ...(isDetailed ? { checks: readiness.checks } : {}) };
  return readiness.ready
    ? new JsonResponse(body)
    : new JsonResponse(body, { status: 503, headers: { "Retry-After": "5" } });
}
