import type { RequestContext } from "./request-context.ts";
import { setSecurityHeaders } from "./security-headers.ts";

/**
 * **The last step of every Worker**, on the response that it made: security headers, and what the request asked of storage
 * when the deployment wants that shown (`SERVER_TIMING`). A count is given as a metric's `dur`, its one numeric member.
 * docs/reference/server-timing.md describes it. In place: copying a response costs as much as making it.
 *
 * @see https://www.w3.org/TR/server-timing/#the-server-timing-header-field
 */
export function finishResponse(
  { counts, settings }: Pick<RequestContext<unknown>, "counts" | "settings">,
  response: Response,
): Response {
  setSecurityHeaders(settings, response);
  if (counts !== undefined) {
    const timing = `object;dur=${counts.object}, kv;dur=${counts.kv}, d1;dur=${counts.d1}`;
    response.headers.set("Server-Timing", timing);
  }
  return response;
}
