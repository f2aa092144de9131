import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { readSettings, type SettingsVariables } from "../config/settings.ts";
import { type Failure, renderJson, reportFailure } from "./failure.ts";
import { finishResponse } from "./finish-response.ts";
import type { EndpointResponse } from "./json-response.ts";
import { type BodyFormat, formBody, ReceivedRequest, receiveRequest } from "./received-request.ts";
import { createRequestContext, type RequestContext } from "./request-context.ts";
import { anyOrigin, preflight } from "./response-headers.ts";
import type { PathHandler, Router } from "./router.ts";

export type EndpointHandler<Env> = (
  context: RequestContext<Env>,
  request: ReceivedRequest,
  /** The parameters of the path. */
  parameters: Readonly<Record<string, string>>,
) => Promise<EndpointResponse>;

export type Method = "GET" | "POST" | "PUT" | "DELETE";

const methodOrder: readonly Method[] = ["GET", "POST", "PUT", "DELETE"];

interface EndpointOptions<Env> {
  /**
   * Accepts browsers of any origin: only for endpoints that no cookie authenticates. `always` adds the header to every response,
   * because a cache may store one that was not requested by a browser.
   */
  readonly cors?: "always" | "when asked";
  /** The body of POST and PUT; a form by default. */
  readonly body?: BodyFormat;
  /** Renders an error; as JSON by default. */
  renderFailure?(
    context: RequestContext<Env>,
    request: ReceivedRequest,
    failure: Failure,
  ): EndpointResponse | Promise<EndpointResponse>;
}

type Handlers<Env> = Readonly<Partial<Record<Method, EndpointHandler<Env>>>>;

/**
 * **Serves one path**: reads the request completely, creates its context and calls the handler of its method; 405 with `Allow` for other methods. An
 * error is classified and logged once (failure.ts) and rendered as JSON, unless the endpoint renders pages. Adds CORS headers for browsers, and the
 * cost of the request in `Server-Timing`.
 */
export function serveEndpoint<Env extends SettingsVariables>(
  router: Pick<Router<Env>, "serve" | "reports">,
  path: string,
  handlers: Handlers<Env>,
  {
    cors,
    body = formBody,
    renderFailure = (_context, _request, failure) => renderJson(failure),
  }: EndpointOptions<Env> = {},
): void {
  const methods = methodOrder.filter((method) => handlers[method] !== undefined);
  const allow = allowedMethods([...methods, ...(cors === undefined ? [] : ["OPTIONS"])]);
  const serve: PathHandler<Env> = async (raw, env, execution, parameters) => {
    const { method } = raw;
    if (cors !== undefined && method === "OPTIONS") return preflight(readSettings(env), allow);
    const hasBody = (method === "POST" || method === "PUT") && handlers[method] !== undefined;
    const request = hasBody ? await receiveRequest(raw, body, execution) : new ReceivedRequest(raw);
    const context = createRequestContext(request, env, execution, path, router.reports);
    let response: EndpointResponse;
    try {
      response = await handlerOf(handlers, method, allow)(context, request, parameters);
    } catch (error) {
      response = await renderFailure(context, request, reportFailure(error, context, request));
    }
    const isForBrowsers = cors === "always" || (cors === "when asked" && request.headers.has("Origin"));
    return finishResponse(context, response, isForBrowsers ? anyOrigin : undefined);
  };
  router.serve(path, serve);
}

/** The methods of a path as `Allow` lists them (RFC 9110 §10.2.1): HEAD is supported where GET is. */
function allowedMethods(methods: readonly string[]): string {
  return methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
}

/**
 * **Selects the handler of a request's method** among those of its path. HEAD uses the handler of GET; the platform omits the body
 * (RFC 9110 §9.3.2). Any other method is 405 with `Allow` (§15.5.6).
 */
export function handlerOf<Handler>(
  handlers: Readonly<Partial<Record<string, Handler>>>,
  method: string,
  allow = allowedMethods(Object.keys(handlers)),
): Handler {
  const name = method === "HEAD" ? "GET" : method;
  const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  if (handler !== undefined) return handler;
  throw new OAuthError("method_not_allowed", "method-not-allowed", { headers: { Allow: allow } });
}
