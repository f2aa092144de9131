import { type EndpointResponse, JsonResponse, noStore } from "./json-response.ts";
import type { RequestContext } from "./request-context.ts";
import { securityHeaders } from "./security-headers.ts";

/**
 * **The last step of every Worker**: adds security headers, `more` and, if the deployment enables `SERVER_TIMING`, the storage
 * calls of the request. A count is a metric's `dur`, its one numeric member (docs/reference/server-timing.md). The response is
 * changed in place, because copying one costs as much as creating it.
 *
 * @see https://www.w3.org/TR/server-timing/#the-server-timing-header-field
 */
type Finished = Pick<RequestContext<unknown>, "counts" | "settings"> & {
  readonly progress?: Pick<RequestContext<unknown>["progress"], "dpopNonce">;
};

export function finishResponse(
  { counts, settings, progress }: Finished,
  response: EndpointResponse,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers: Record<string, string> = { ...securityHeaders(settings), ...more };
  if (counts !== undefined) {
    headers["Server-Timing"] = `object;dur=${counts.object}, kv;dur=${counts.kv}, d1;dur=${counts.d1}`;
  }
  if (progress?.dpopNonce !== undefined) headers["DPoP-Nonce"] = progress.dpopNonce;
  if (response instanceof JsonResponse) {
    return Response.json(response.body, {
      status: response.status,
      headers: { ...headers, ...noStore, ...response.headers },
    });
  }
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
