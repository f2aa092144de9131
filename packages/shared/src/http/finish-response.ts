import { type EndpointResponse, JsonResponse, noStore } from "./json-response.ts";
import type { RequestContext } from "./request-context.ts";
import { securityHeaders } from "./security-headers.ts";

/**
 * **The last step of every Worker**: the response with its security headers, `more`, and what the request asked of storage when
 * the deployment wants that shown (`SERVER_TIMING`). A count is given as a metric's `dur`, its one numeric member.
 * docs/reference/server-timing.md describes it. A response is changed in place: copying one costs as much as making it.
 *
 * @see https://www.w3.org/TR/server-timing/#the-server-timing-header-field
 */
export function finishResponse(
  { counts, settings }: Pick<RequestContext<unknown>, "counts" | "settings">,
  response: EndpointResponse,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers: Record<string, string> = { ...securityHeaders(settings), ...more };
  if (counts !== undefined) {
    headers["Server-Timing"] = `object;dur=${counts.object}, kv;dur=${counts.kv}, d1;dur=${counts.d1}`;
  }
  if (response instanceof JsonResponse) {
    return Response.json(response.body, {
      status: response.status,
      headers: { ...headers, ...noStore, ...response.headers },
    });
  }
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
