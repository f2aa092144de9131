import { getPath } from "hono/utils/url";
import type { SettingsVariables } from "../config/settings.ts";
import { onFirstUse } from "../runtime/on-first-use.ts";
import { renderJson, reportFailure } from "./failure.ts";
import { noStore } from "./json-response.ts";
import { answerElsewhere } from "./own-host.ts";
import { type RefusalReports, requestIdOf } from "./request-context.ts";

/** The members of the platform's execution context that a Worker in the compact shape has too. */
export type Execution = Pick<ExecutionContext, "waitUntil" | "passThroughOnException" | "props">;

/** Serves the requests of one path; `parameters` are those of the path. */
export type PathHandler<Env> = (
  request: Request,
  env: Env,
  execution: Execution,
  parameters: Readonly<Record<string, string>>,
) => Promise<Response>;

const noParameters = {};

/**
 * **The router of a Worker**, for requests to its own host (own-host.ts). A path without parameters is looked up in a table; only other paths reach
 * Hono, which the first of them loads: its context and matching cost a tenth of an introspection. An error before the request has a context, such as
 * an invalid setting, passes the same boundary as all others (failure.ts). It is rendered as JSON without HSTS, because no settings are known.
 */
export class Router<Env extends SettingsVariables> {
  readonly #exact = new Map<string, PathHandler<Env>>();
  readonly #patterns: { readonly path: string; readonly handler: PathHandler<Env> }[] = [];
  #others: ((request: Request, env: Env, execution: Execution) => Response | Promise<Response>) | undefined;
  /** Where the refusals of its requests are reported. */
  readonly reports: RefusalReports<Env> | undefined;

  constructor(reports?: RefusalReports<Env>) {
    this.reports = reports;
  }

  /** Serves a path for every method. The first handler of a path wins. Supports Hono's patterns: `/clients/:id`, `*`. */
  serve(path: string, handler: PathHandler<Env>): void {
    if (/[:*]/.test(path)) this.#patterns.push({ path, handler });
    else if (!this.#exact.has(path)) this.#exact.set(path, handler);
  }

  /** Serves every path that has no handler. */
  serveOthers(handler: (request: Request, env: Env, execution: Execution) => Response | Promise<Response>): void {
    this.#others = handler;
  }

  readonly fetch = (request: Request, env: Env, execution: Execution): Response | Promise<Response> => {
    const elsewhere = answerElsewhere(request, env);
    if (elsewhere !== undefined) return elsewhere instanceof Error ? renderEarlyError(elsewhere, request) : elsewhere;
    const handler = this.#exact.get(getPath(request));
    if (handler === undefined) return this.#match(request, env, execution);
    const response = handler(request, env, execution, noParameters).catch((error: unknown) =>
      renderEarlyError(error, request),
    );
    return request.method === "HEAD" ? response.then(withoutBody) : response;
  };

  async #match(request: Request, env: Env, execution: Execution): Promise<Response> {
    const patterns = await this.#matcher();
    return patterns.fetch(request, env, execution);
  }

  readonly #matcher = onFirstUse(async () => {
    const { Hono } = await import("hono");
    const matcher = new Hono<{ Bindings: Env }>();
    matcher.onError((error, { req }) => renderEarlyError(error, req.raw));
    for (const { path, handler } of this.#patterns) {
      matcher.all(path, ({ req, env, executionCtx }) => handler(req.raw, env, executionCtx as Execution, req.param()));
    }
    const others = this.#others;
    if (others !== undefined) {
      matcher.notFound(({ req, env, executionCtx }) => others(req.raw, env, executionCtx as Execution));
    }
    return matcher;
  });
}

/** RFC 9110 §9.3.2: a response to HEAD has the same headers as a response to GET. */
function withoutBody(response: Response): Response {
  return new Response(null, response);
}

function renderEarlyError(error: unknown, request: Request): Response {
  const requestId = requestIdOf(request);
  const { body, status, headers } = renderJson(reportFailure(error, { requestId }));
  const named = { "X-Content-Type-Options": "nosniff", "Request-Id": requestId };
  return Response.json(body, { status, headers: { ...named, ...noStore, ...headers } });
}
