import { readCookie } from "@edge-op/pages/cookies";
import { ErrorPage, type ErrorView } from "@edge-op/pages/message-pages";
import { respondPage } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { type Failure, renderJson } from "@edge-op/shared/http/failure";
import type { EndpointResponse } from "@edge-op/shared/http/json-response";
import { prefersPage } from "@edge-op/shared/http/prefers-page";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Router } from "@edge-op/shared/http/router";
import { type EndpointHandler, type Method, serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { beginBranding, frameOf } from "./frame.ts";
import type { AuthTranslator } from "./messages.ts";

export type PageHandler = EndpointHandler<AuthEnv>;

type PageHandlers = Readonly<Partial<Record<Method, PageHandler>>>;

/**
 * **Serves a path that people's browsers visit**: an endpoint whose errors are pages and never redirects. Requests are counted by address before any
 * lookup, because an invented cookie or id in the path costs an object call too.
 */
export function servePage(
  app: Router<AuthEnv>,
  { rateShield, upstreams }: Pick<AuthIsolate, "rateShield" | "upstreams">,
  path: string,
  handlers: PageHandlers,
): void {
  const counted = Object.entries(handlers).map(([method, serve]): [string, PageHandler] => [
    method,
    async (context, request, parameters) => {
      rateShield.countAddress(context, request);
      beginBranding(context, { upstreams, isPlain: false }, request.method);
      return serve(context, request, parameters);
    },
  ]);
  serveEndpoint(app, path, Object.fromEntries(counted), { renderFailure: renderPage });
}

/** Like {@link servePage}, for a page that calls no store. */
export function servePlainPage(
  app: Router<AuthEnv>,
  { upstreams }: Pick<AuthIsolate, "upstreams">,
  path: string,
  handlers: PageHandlers,
): void {
  const plain = Object.entries(handlers).map(([method, serve]): [string, PageHandler] => [
    method,
    (context, request, parameters) => {
      beginBranding(context, { upstreams, isPlain: true }, request.method);
      return serve(context, request, parameters);
    },
  ]);
  serveEndpoint(app, path, Object.fromEntries(plain), { renderFailure: renderPage });
}

/** A page, unless the caller accepts JSON and prefers it: a client that checks whether it is still registered receives `invalid_client`. */
async function renderPage(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  failure: Failure,
): Promise<EndpointResponse> {
  const accept = request.headers.get("accept") ?? "";
  if (accept.includes("application/json") && !prefersPage(request)) return renderJson(failure);
  const { error } = failure;
  const frame = await frameOf(context, request, error instanceof ShownError ? error.uiLocales : undefined, true);
  const described = describe(failure, frame.t, request);
  const cookies = needsCookies(context, request, error)
    ? { text: frame.t("error.cookies"), description: undefined }
    : {};
  const view = { ...described, ...cookies, reference: context.requestId };
  const { status, headers } = failure;
  return respondPage(<ErrorPage frame={frame} view={view} />, { status, headers });
}

const ofBrowser = ["flow-invalid", "form-token-invalid", "upstream-transaction-unknown"];

/**
 * Whether a page or form needs the browser in which it began, and this one sent no cookie at all: it keeps none, or it is another one. To say that
 * the page has expired would send the person round in circles.
 */
function needsCookies(context: RequestContext<AuthEnv>, request: ReceivedRequest, error: unknown): boolean {
  if (!(error instanceof OAuthError) || !ofBrowser.includes(error.reason)) return false;
  return (["op-browser", "op-session", "op-accounts"] as const).every(
    (name) => readCookie(context, request, name) === undefined,
  );
}

/** The description of a refusal is for the client's developer. Other failures have no description that adds to the text. */
function describe(
  { kind, code, description, error }: Failure,
  t: AuthTranslator,
  request: ReceivedRequest,
): Omit<ErrorView, "reference"> {
  if (kind === "unavailable") return { text: t("error.unavailable"), code, description: undefined };
  if (kind === "bug") return { text: t("error.server"), code, description: undefined };
  const link = { href: "/", text: t("home.link") };
  if (code === "not_found") {
    return { title: t("notFound.title"), text: t("notFound.text"), code, description, link };
  }
  if (error instanceof OAuthError && error.reason === "form-token-invalid") {
    const again = { href: pathAgain(request), text: t("flow.continue") };
    return { text: t("flow.outdatedText"), code, description, link: again };
  }
  if (!(error instanceof ShownError)) return { text: t("error.back"), code, description };
  const { next } = error;
  if (next === undefined) return { text: t("error.expired"), code, description, link };
  const continuing = next.client === undefined ? t("flow.continue") : t("flow.continueTo", { client: next.client });
  const text = t(next.isOver ? "error.expired" : "flow.expiredText");
  return { text, code, description, link: { href: next.href, text: continuing } };
}

/** Where a person goes on whose form is of another sign-in: their request begins again, without its proofs. */
function pathAgain(request: ReceivedRequest): string {
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith("/flow/")) return pathname.startsWith("/account") ? "/account" : "/";
  return `/flow/restart?${new URLSearchParams({ f: readForm(request).get("f") ?? "" })}`;
}

/** **A refusal that concerns the person alone**: a page that has expired or was used. It is shown, and never sent to the client. */
export class ShownError extends OAuthError {
  /** Where the person can go on; `client` is the name of the application, if one waits for them; `isOver`: they begin again there. */
  next: { readonly href: string; readonly client: string | undefined; readonly isOver: boolean } | undefined;
  /** The `ui_locales` of what the person was doing. */
  uiLocales: readonly string[] | undefined;
}
