import type { Context, Hono } from "hono";
import { OAuthError } from "../oauth/errors.ts";
import { allowAnyOrigin, preflight } from "./cors.ts";
import { finishResponse } from "./finish-response.ts";
import { createRequestContext, type RequestContext } from "./request-context.ts";
import { respondError } from "./respond-error.ts";
import type { SettingsVariables } from "./settings.ts";

/**
 * **Serves one path**: a context for each request, one boundary for its errors, 405 with `Allow` for other methods, CORS
 * where browsers need it, and the request's cost in `Server-Timing`.
 */
export type EndpointHandler<Env> = (context: RequestContext<Env>, request: Request) => Promise<Response>;

export type Method = "GET" | "POST";

export interface EndpointOptions {
  /** Answers browsers of any origin: only for endpoints that no cookie authenticates. */
  readonly cors?: boolean;
}

export function serveEndpoint<Env extends SettingsVariables>(
  app: Hono<{ Bindings: Env }>,
  path: string,
  handlers: Readonly<Partial<Record<Method, EndpointHandler<Env>>>>,
  options: EndpointOptions = {},
): void {
  const methods = (["GET", "POST"] as const).filter((method) => handlers[method] !== undefined);
  const allow = [...methods, ...(options.cors ? ["OPTIONS"] : [])].join(", ");
  app.all(path, async ({ req, env, executionCtx }: Context<{ Bindings: Env }>) => {
    if (options.cors && req.method === "OPTIONS") return preflight(allow);
    const context = createRequestContext(req.raw, env, executionCtx);
    const response = await answer(context, handlers, req.raw, allow);
    if (options.cors) allowAnyOrigin(response);
    return finishResponse(context, response);
  });
}

async function answer<Env>(
  context: RequestContext<Env>,
  handlers: Readonly<Partial<Record<Method, EndpointHandler<Env>>>>,
  request: Request,
  allow: string,
): Promise<Response> {
  try {
    // RFC 9110 §9.3.2: HEAD is GET without the body, which the router leaves out.
    const method = request.method === "HEAD" ? "GET" : request.method;
    const handler = method === "GET" || method === "POST" ? handlers[method] : undefined;
    if (handler === undefined) {
      throw new OAuthError("method_not_allowed", `${request.method} is not allowed`, { headers: { Allow: allow } });
    }
    return await handler(context, request);
  } catch (error) {
    return respondError(error, context.requestId);
  }
}
