import { clientMark } from "@edge-op/pages/client-mark";
import { MessagePage } from "@edge-op/pages/message-pages";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { deleteUserSession } from "@edge-op/shared/directory/consents";
import { pairwiseSubject, sectorSessionId } from "@edge-op/shared/directory/pairwise-subject";
import { type Form, parseParameters, readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { Session } from "@edge-op/shared/objects/session-store";
import { settle } from "@edge-op/shared/revocation/settle";
import type { AuthEnv } from "../auth-env.ts";
import { clearCookie, readCookie } from "../browser/cookies.ts";
import { formToken, requireFormToken } from "../browser/form-token.ts";
import { storeParameters, takeParameters } from "../browser/stored-parameters.ts";
import type { AuthIsolate } from "../isolate.ts";
import { frameOf } from "../pages/frame.ts";
import { LogoutPage } from "./logout-page.tsx";
import { checkLogoutRequest, type LogoutRequest, logoutParameters } from "./logout-request.ts";

const postedLifetimeMs = 60_000;

/**
 * **`/logout`.** A hint that speaks of who is signed in here ends the session at once; anything less asks the person first, so that
 * no link signs anyone out. Ending a session tells its clients and ends its grants (packages/op-state/src/sessions/session-store.ts).
 * Cost: 2 object calls and 1 D1 call.
 *
 * @see https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout
 */
export async function logoutEndpoint(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<Response> {
  isolate.rateShield.countAddress(context, request);
  const sessionId = readCookie(context, request, "op-session");
  if (request.method === "POST" && sessionId === undefined) return continueAsGet(context, isolate, request);
  const parameters = await receiveParameters(context, isolate, request);
  const logout = await settle(context, isolate, () => checkLogoutRequest(context, isolate, parameters));
  const contents = sessionId === undefined ? undefined : await isolate.sessions.read(context, sessionId);
  if (sessionId === undefined || contents === undefined) {
    // A session that has gone idle may still owe its clients and grants their end.
    if (sessionId !== undefined) await endSession(context, isolate, sessionId);
    return leave(context, request, logout);
  }
  if (await speaksOf(context, logout, contents.session)) {
    await endSession(context, isolate, sessionId);
    return leave(context, request, logout);
  }
  return askFirst(context, request, logout, sessionId, parameters);
}

/** A query of this length is accepted everywhere; `state` is what makes it longer. */
const longestQuery = 4096;

/**
 * Another site's form carries no Lax cookies; the GET that it goes on as does. Parameters are stored for a caller whose hint was issued
 * here; without one there is nothing in them that a URL must not contain.
 */
async function continueAsGet(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<Response> {
  const parameters = readForm(request);
  const { hint } = await settle(context, isolate, () => checkLogoutRequest(context, isolate, parameters));
  if (hint === undefined) {
    const query = new URLSearchParams(presentParameters(parameters)).toString();
    if (query.length > longestQuery) throw new OAuthError("request_too_large", `${query.length} characters posted`);
    return redirect(query === "" ? "/logout" : `/logout?${query}`);
  }
  const stored = { parameters, pushedBy: undefined };
  const lifetime = { openMs: postedLifetimeMs };
  const id = await storeParameters(context, isolate, "logout-request", logoutParameters, stored, lifetime);
  return redirect(`/logout?request=${id}`);
}

function presentParameters(parameters: Form): [string, string][] {
  return logoutParameters
    .map((name) => [name, parameters.get(name)] as const)
    .filter((pair): pair is [(typeof logoutParameters)[number], string] => pair[1] !== undefined);
}

/** **The person's answer** to the question. Its parameters are checked anew: the form has been in the browser. */
export async function confirmLogout(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<Response> {
  const form = readForm(request);
  const sessionId = readCookie(context, request, "op-session");
  const logout = await settle(context, isolate, () => checkLogoutRequest(context, isolate, form));
  if (sessionId === undefined) return leave(context, request, logout);
  await requireFormToken(context, "logout", sessionId, form.get("form_token"));
  if (form.get("decision") === "stay") {
    const frame = frameOf(context, request, logout.uiLocales);
    const { t } = frame;
    const link = { href: "/account", text: t("link.account") };
    return respondPage(<MessagePage frame={frame} title={t("stayed.title")} text={t("stayed.text")} link={link} />);
  }
  await endSession(context, isolate, sessionId);
  return leave(context, request, logout);
}

export async function endSession(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  sessionId: string,
): Promise<void> {
  const ended = await isolate.sessions.end(context, sessionId, "logout");
  if (ended !== undefined) await deleteUserSession(context.env.DB, ended.sub, ended.sid);
}

async function receiveParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<Form> {
  if (request.method === "POST") return readForm(request);
  const given = parseParameters(new URL(request.url).searchParams);
  const reference = given.get("request");
  if (reference === undefined) return given;
  const stored = await takeParameters(context, isolate, "logout-request", reference);
  if (stored === undefined) {
    throw new OAuthError("invalid_request", "posted logout request used or expired");
  }
  return stored.parameters;
}

/** Whether the hint is of this session, or at least of this person. */
async function speaksOf(
  context: RequestContext<AuthEnv>,
  { hint, client }: LogoutRequest,
  session: Session,
): Promise<boolean> {
  if (hint === undefined || client === undefined) return false;
  // As this client's sector knows the session; pairwise clients had its own `sid` in ID tokens of earlier releases.
  if (hint.sid === session.sid || hint.sid === (await sectorSessionId(context.env, session, hint.sub))) return true;
  return hint.sub === ((await pairwiseSubject(context.env, client, session.sub)) ?? session.sub);
}

function leave(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  logout: LogoutRequest,
): Response | Promise<Response> {
  const cookies = [clearCookie(context, "op-session")];
  if (logout.returnTo !== undefined) return redirect(logout.returnTo, cookies);
  const frame = frameOf(context, request, logout.uiLocales);
  const { t } = frame;
  const link = { href: "/account", text: t("loggedOut.again") };
  const page = <MessagePage frame={frame} title={t("loggedOut.title")} text={t("loggedOut.text")} link={link} />;
  return respondPage(page, { cookies });
}

async function askFirst(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  logout: LogoutRequest,
  sessionId: string,
  parameters: Form,
): Promise<Response> {
  const fields = presentParameters(parameters);
  const view = {
    action: "/interaction/logout",
    fields: { ...Object.fromEntries(fields), form_token: await formToken(context, "logout", sessionId) },
    client: logout.client && clientMark(logout.client).name,
  };
  const page = <LogoutPage frame={frameOf(context, request, logout.uiLocales)} view={view} />;
  return respondPage(page, { formTarget: logout.returnTo });
}
