import type { RequestContext } from "./request-context.ts";

/**
 * **Shows what a request cost**, where the deployment asks for it: object calls, KV operations and D1 round trips as
 * `Server-Timing: object;dur=1, kv;dur=0, d1;dur=0`. `dur` carries the count: it is the one number that tools keep.
 *
 * @see https://www.w3.org/TR/server-timing/#the-server-timing-header-field
 */
export function finishResponse(context: RequestContext<unknown>, response: Response): Response {
  const { counts } = context;
  if (counts === undefined) return response;
  const shown = new Response(response.body, response);
  shown.headers.set("Server-Timing", `object;dur=${counts.object}, kv;dur=${counts.kv}, d1;dur=${counts.d1}`);
  return shown;
}
