import { type Answer, JsonAnswer, noStore } from "./json-answer.ts";
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
  answer: Answer,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers: Record<string, string> = { ...securityHeaders(settings), ...more };
  if (counts !== undefined) {
    headers["Server-Timing"] = `object;dur=${counts.object}, kv;dur=${counts.kv}, d1;dur=${counts.d1}`;
  }
  if (answer instanceof JsonAnswer) {
    return Response.json(answer.body, {
      status: answer.status,
      headers: { ...headers, ...noStore, ...answer.headers },
    });
  }
  for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value);
  return answer;
}
