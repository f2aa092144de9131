import { finishResponse } from "@edge-op/shared/http/finish-response";
import { handlerOf } from "@edge-op/shared/http/handler-of";
import { formBody, type ReceivedRequest, receiveRequest } from "@edge-op/shared/http/received-request";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { OAuthError, UnavailableError } from "@edge-op/shared/oauth/errors";
import type { Context, Hono } from "hono";
import type { AuthEnv } from "./auth-env.ts";
import { ExpiredInteractionError } from "./authorization/interaction.ts";
import { ErrorPage, type ErrorView } from "./pages/message-pages.tsx";
import { frameOf, respondPage } from "./pages/respond-page.ts";

export type PageHandler = (
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  parameters: Readonly<Record<string, string>>,
) => Promise<Response>;

/**
 * **Serves a path that people's browsers visit.** Refusals, unavailability and bugs become pages that say what can be done,
 * with the same statuses and log entries as the JSON boundary has; none of them redirects anywhere.
 */
export function servePage(
  app: Hono<{ Bindings: AuthEnv }>,
  path: string,
  handlers: Readonly<Partial<Record<"GET" | "POST", PageHandler>>>,
): void {
  app.all(path, async ({ req, env, executionCtx }: Context<{ Bindings: AuthEnv }>) => {
    const hasForm = req.method === "POST" && handlers.POST !== undefined;
    const request = await receiveRequest(req.raw, hasForm ? formBody : undefined);
    const context = createRequestContext(request, env, executionCtx);
    try {
      const handler = handlerOf(handlers, req.method);
      return finishResponse(context, await handler(context, request, req.param()));
    } catch (error) {
      return finishResponse(context, await respondErrorPage(context, request, error));
    }
  });
}

interface Failure {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly view: Omit<ErrorView, "reference">;
}

async function respondErrorPage(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  error: unknown,
): Promise<Response> {
  const frame = frameOf(context, request);
  const { status, headers = {}, view } = describeFailure(context, frame.t, error);
  const page = <ErrorPage frame={frame} view={{ ...view, reference: context.requestId }} />;
  return respondPage(page, { status, headers });
}

function describeFailure(
  { requestId }: RequestContext<unknown>,
  t: ReturnType<typeof frameOf>["t"],
  error: unknown,
): Failure {
  if (error instanceof OAuthError) {
    const { code, detail, status, headers, description } = error;
    console.info(JSON.stringify({ event: "refused", code, detail, requestId }));
    if (code === "not_found") {
      const link = { href: "/", text: t("home.link") };
      return {
        status,
        headers,
        view: { title: t("notFound.title"), text: t("notFound.text"), code, description, link },
      };
    }
    const text = t(error instanceof ExpiredInteractionError ? "error.expired" : "error.back");
    return { status, headers, view: { text, code, description } };
  }
  if (error instanceof UnavailableError) {
    const { store, cause } = error;
    console.error(JSON.stringify({ event: "unavailable", store, cause: String(cause), requestId }));
    const view = { text: t("error.unavailable"), code: "temporarily_unavailable", description: undefined };
    return { status: 503, headers: { "Retry-After": "1" }, view };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  console.error(JSON.stringify({ event: "bug", error: text, requestId }));
  return { status: 500, view: { text: t("error.server"), code: "server_error", description: undefined } };
}
