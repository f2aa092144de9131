import type { Context, Hono } from "hono";
import type { SettingsVariables } from "../config/settings.ts";
import { anyOrigin, preflight } from "./cors.ts";
import { errorResponse } from "./error-response.ts";
import { finishResponse } from "./finish-response.ts";
import { handlerOf } from "./handler-of.ts";
import type { EndpointResponse } from "./json-response.ts";
import { formBody, type ReceivedRequest, receiveRequest } from "./received-request.ts";
import { createRequestContext, type RequestContext } from "./request-context.ts";

/**
 * **Serves one path**: the request is read to its end, then a context is created, with one boundary for its errors, 405 with `Allow` for other methods, CORS
 * where browsers need it, and the request's cost in `Server-Timing`.
 */
export type EndpointHandler<Env> = (
  context: RequestContext<Env>,
  request: ReceivedRequest,
) => Promise<EndpointResponse>;

export type Method = "GET" | "POST";

export interface EndpointOptions {
  /**
   * Answers browsers of any origin: only for endpoints that no cookie authenticates. `always` says so in every answer, because
   * a cache may keep one that no browser asked for.
   */
  readonly cors?: "always" | "when asked";
}

export function serveEndpoint<Env extends SettingsVariables>(
  app: Hono<{ Bindings: Env }>,
  path: string,
  handlers: Readonly<Partial<Record<Method, EndpointHandler<Env>>>>,
  options: EndpointOptions = {},
): void {
  const methods = (["GET", "POST"] as const).filter((method) => handlers[method] !== undefined);
  const allow = [...methods, ...(options.cors === undefined ? [] : ["OPTIONS"])].join(", ");
  app.all(path, async ({ req, env, executionCtx }: Context<{ Bindings: Env }>) => {
    if (options.cors !== undefined && req.method === "OPTIONS") return preflight(allow);
    const hasForm = req.method === "POST" && handlers.POST !== undefined;
    const request = await receiveRequest(req.raw, hasForm ? formBody : undefined);
    const context = createRequestContext(request, env, executionCtx);
    const response = await respond(context, handlers, request, allow);
    const isForBrowsers = options.cors === "always" || (options.cors === "when asked" && request.headers.has("Origin"));
    return finishResponse(context, response, isForBrowsers ? anyOrigin : {});
  });
}

async function respond<Env>(
  context: RequestContext<Env>,
  handlers: Readonly<Partial<Record<Method, EndpointHandler<Env>>>>,
  request: ReceivedRequest,
  allow: string,
): Promise<EndpointResponse> {
  try {
    return await handlerOf(handlers, request.method, allow)(context, request);
  } catch (error) {
    return errorResponse(error, context.requestId);
  }
}
