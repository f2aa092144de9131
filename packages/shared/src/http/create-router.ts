import { Hono } from "hono";
import type { SettingsVariables } from "../config/settings.ts";
import { renderJson, reportFailure } from "./failure.ts";
import { noStore } from "./json-response.ts";
import { requestIdOf } from "./request-context.ts";

/**
 * **The router of a Worker.** An error before the request has a context, such as a setting that is not accepted, passes the same
 * boundary as all others (failure.ts). It is rendered as JSON without HSTS, because no settings are known.
 */
export function createRouter<Env extends SettingsVariables>(): Hono<{ Bindings: Env }> {
  const router = new Hono<{ Bindings: Env }>();
  router.onError((error, { req }) => {
    const { body, status, headers } = renderJson(reportFailure(error, requestIdOf(req.raw)));
    return Response.json(body, { status, headers: { "X-Content-Type-Options": "nosniff", ...noStore, ...headers } });
  });
  return router;
}
