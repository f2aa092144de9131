import type { RequestContext } from "./request-context.ts";

/**
 * **The last step of every Worker**: shows what the request asked of storage when the deployment wants that shown
 * (`SERVER_TIMING`). A count is given as a metric's `dur`, its one numeric member. docs/reference/server-timing.md describes it.
 *
 * @see https://www.w3.org/TR/server-timing/#the-server-timing-header-field
 */
export function finishResponse(context: Pick<RequestContext<unknown>, "counts">, response: Response): Response {
  const { counts } = context;
  if (counts === undefined) return response;
  const finished = new Response(response.body, response);
  finished.headers.set("Server-Timing", `object;dur=${counts.object}, kv;dur=${counts.kv}, d1;dur=${counts.d1}`);
  return finished;
}
