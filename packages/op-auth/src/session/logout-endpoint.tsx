import { clientMark } from "@edge-op/pages/client-mark";
import { formToken, requireFormToken } from "@edge-op/pages/form-token";
import { MessagePage } from "@edge-op/pages/message-pages";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { pairwiseSubject, sectorSessionId } from "@edge-op/shared/clients/pairwise-subject";
import { settle } from "@edge-op/shared/control/settle";
import { endSession } from "@edge-op/shared/endings/endings";
import { reportFailure } from "@edge-op/shared/http/failure";
import type { EndpointResponse } from "@edge-op/shared/http/json-response";
import { type Form, parseParameters, readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import type { Session } from "@edge-op/shared/sessions/session-rpc";
import { storeParameters, takeParameters } from "../authorization/stored-parameters.ts";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import {
  accountCookies,
  type BrowserAccount,
  type BrowserAccounts,
  isAlone,
  readAccounts,
  whileEnding,
  withoutAccounts,
} from "./browser-accounts.ts";
import { clientLogout, isClientRequest } from "./client-logout.ts";
import { FrontChannelPage, framesAtMost, frontChannelUrls } from "./front-channel.tsx";
import { LogoutFault, LogoutPage } from "./logout-page.tsx";
import { checkLogoutRequest, type LogoutRequest, logoutParameters } from "./logout-request.ts";

const postedLifetimeMs = 60_000;

/**
 * **`/logout`.** client-logout.ts answers a client that authenticates. With a hint for the session or the person of this browser, the session ends at
 * once. Otherwise the person confirms it first, so that no link can sign anyone out. A request with a fault (another return address, no hint of this
 * provider) signs out in the same way, without a redirect, and the page says why. The end of a session notifies its clients and revokes its grants,
 * and is confirmed before the response (endings.ts). If it cannot be, the response is 503 and the browser is signed out anyway; a repeated request
 * finishes the work. Cost: 1 object call, and those of endings.ts.
 *
 * @see https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout
 */
export async function logoutEndpoint(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<EndpointResponse> {
  if (request.method === "POST") {
    const form = readForm(request);
    if (await isClientRequest(context, isolate, request, form)) return clientLogout(context, isolate, request, form);
  }
  const accounts = await readAccounts(context, request);
  const { active, all, ending } = accounts;
  const isUnknown = all.length === 0 && ending.length === 0;
  if (request.method === "POST" && isUnknown) return continueAsGet(context, isolate, request);
  const { parameters, expired } = await receiveParameters(context, isolate, request);
  const checked = await settle(context, isolate, () => checkLogoutRequest(context, isolate, parameters));
  const logout = { ...checked, fault: expired ?? checked.fault };
  if (logout.fault !== undefined) reportFailure(logout.fault, context, request);
  if (isUnknown) return leaveWithoutSession(context, request, logout);
  const at = { context, isolate, request };
  if (all.length === 0) return signOut({ ...at, sessionIds: idsOf(ending) }, logout);
  const listed = await findListed(context, logout, accounts);
  if (listed !== undefined) return signOut({ ...at, sessionIds: [listed.id] }, logout);
  if (active !== undefined && active.sub === undefined) {
    const contents = await isolate.sessions.read(context, active.id);
    // A session that has expired or ended may still have remaining work.
    const isDecided = contents === undefined ? isAlone(accounts) : await isAbout(context, logout, contents.session);
    if (isDecided) return signOut({ ...at, sessionIds: [active.id] }, logout);
  }
  return requestConfirmation(at, logout, accounts, parameters);
}

function idsOf(accounts: readonly BrowserAccount[]): string[] {
  return accounts.map(({ id }) => id);
}

/** The account of the list that the hint names: a list has one session of each person. A logout that was not confirmed is finished. */
async function findListed(
  context: RequestContext<AuthEnv>,
  { hint, client }: LogoutRequest,
  { all, ending }: BrowserAccounts,
): Promise<BrowserAccount | undefined> {
  if (hint === undefined || client === undefined) return undefined;
  const listed = [...all, ...ending];
  const subjects = await Promise.all(
    listed.map(async ({ sub }) => sub && ((await pairwiseSubject(context.env, client, sub)) ?? sub)),
  );
  return listed.find((_, index) => subjects[index] === hint.sub);
}

/** A length of query that every platform accepts. Only `state` can make it longer. */
const longestQuery = 4096;

/** In place of a hint that this provider did not issue: whatever it is, it belongs in no URL. */
const notAHint = "invalid";

/**
 * A form posted by another site is sent without Lax cookies; a GET that follows is sent with them. Parameters with a hint are stored, and
 * only if this provider issued the hint. Parameters without a hint contain nothing secret and are sent in the URL.
 */
async function continueAsGet(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<Response> {
  const parameters = readForm(request);
  const { hint } = await settle(context, isolate, () => checkLogoutRequest(context, isolate, parameters));
  if (hint === undefined) {
    const present = presentParameters(parameters);
    const shown = present.map(([name, value]) => [name, name === "id_token_hint" ? notAHint : value]);
    const query = new URLSearchParams(shown).toString();
    if (query.length > longestQuery) throw new OAuthError("request_too_large", "posted-parameters-too-long");
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

/** **The person's decision** on the logout page. The parameters are checked again, because the browser could have changed them. */
export async function confirmLogout(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<Response> {
  const form = readForm(request);
  const check = () => settle(context, isolate, () => checkLogoutRequest(context, isolate, form));
  const accounts = await readAccounts(context, request);
  const { active, all, ending } = accounts;
  const shown = shownAccount(accounts);
  if (shown === undefined) return leave(context, request, await check());
  await requireFormToken(context, "logout", shown, form.get("form_token"));
  const decision = form.get("decision");
  if (decision === "stay") {
    const frame = await frameOf(context, request, (await check()).uiLocales);
    const { t } = frame;
    const link = { href: "/account", text: t("link.account") };
    return respondPage(<MessagePage frame={frame} title={t("stayed.title")} text={t("stayed.text")} link={link} />);
  }
  const everything = idsOf([...all, ...ending]);
  const sessionIds = decision === "all" || active === undefined ? everything : [active.id];
  const at = { context, isolate, request };
  return signOut({ ...at, sessionIds }, await whileEnding(at, shown, check));
}

/** What the page asks about, to which its form is bound: the active account, else all others. */
function shownAccount({ active, all, ending }: BrowserAccounts): string | undefined {
  return (active ?? all[0])?.id ?? ending[0]?.id;
}

export interface SignOut {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
  readonly sessionIds: readonly string[];
}

/** What the page after the end of a session needs. */
type Ending = Pick<LogoutRequest, "returnTo" | "uiLocales" | "fault">;

/** Ends sessions of this browser, and loads the front-channel logout URLs of their clients on the way back. Other accounts stay signed in. */
export async function signOut({ context, isolate, request, sessionIds }: SignOut, logout: Ending): Promise<Response> {
  const end = (id: string) =>
    whileEnding({ context, request }, id, async () => {
      const ended = await endSession(context, isolate, { id }, "logout");
      return ended === undefined ? [] : frontChannelUrls(context, isolate, ended);
    });
  const urls = await Promise.all(sessionIds.map(end));
  return leave(context, request, logout, { sessionIds, urls: urls.flat().slice(0, framesAtMost) });
}

async function receiveParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<{ readonly parameters: Form; readonly expired?: OAuthError }> {
  if (request.method === "POST") return { parameters: readForm(request) };
  const given = parseParameters(new URL(request.url).searchParams);
  const reference = given.get("request");
  if (reference === undefined) return { parameters: given };
  const stored = await takeParameters(context, isolate, "logout-request", reference);
  if (stored !== undefined) return { parameters: stored.parameters };
  const description = "The request has expired or was already used.";
  return { parameters: given, expired: new OAuthError("invalid_request", "logout-request-expired", { description }) };
}

/** Whether the hint names this session or this person. */
async function isAbout(
  context: RequestContext<AuthEnv>,
  { hint, client }: LogoutRequest,
  session: Session,
): Promise<boolean> {
  if (hint === undefined || client === undefined) return false;
  // The `sid` of this client's sector.
  if (hint.sid === (await sectorSessionId(context.env, session, hint.sub))) return true;
  return hint.sub === ((await pairwiseSubject(context.env, client, session.sub)) ?? session.sub);
}

const nothingEnded = { sessionIds: [], urls: [] };

async function leave(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  { returnTo, uiLocales, fault }: Ending,
  { sessionIds, urls }: { readonly sessionIds: readonly string[]; readonly urls: readonly string[] } = nothingEnded,
): Promise<Response> {
  const left = withoutAccounts(await readAccounts(context, request), sessionIds);
  const cookies = await accountCookies(context, request, left);
  const hasOthers = left.all.length > 0;
  const frame = await frameOf(context, request, uiLocales);
  if (urls.length > 0) {
    const view = { urls, returnTo, fault, hasOthers };
    return respondPage(<FrontChannelPage frame={frame} view={view} />, { cookies, frames: urls });
  }
  if (returnTo !== undefined) return redirect(returnTo, cookies);
  const { t } = frame;
  const link = { href: "/account", text: t(hasOthers ? "link.account" : "loggedOut.again") };
  const view = {
    title: t("loggedOut.title"),
    text: t(hasOthers ? "loggedOut.others" : "loggedOut.text"),
    link,
    note: <LogoutFault t={t} fault={fault} />,
  };
  const page = <MessagePage frame={frame} {...view} />;
  return respondPage(page, { cookies });
}

/** Without a cookie nothing ends, because a link must not sign anyone out; a back end that expects otherwise finds the reason here or in the log. */
async function leaveWithoutSession(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  logout: LogoutRequest,
): Promise<Response> {
  const { hint } = logout;
  if (hint !== undefined) log("logout-without-session", { clientId: hint.clientId, requestId: context.requestId });
  const response = await leave(context, request, logout);
  response.headers.set("Logout-Ended", "nothing");
  return response;
}

async function requestConfirmation(
  { context, isolate, request }: PageRequest,
  logout: LogoutRequest,
  accounts: BrowserAccounts,
  parameters: Form,
): Promise<Response> {
  const fields = presentParameters(parameters);
  const { active, all } = accounts;
  const shown = shownAccount(accounts) ?? "";
  const view = {
    action: "/logout/confirm",
    fields: { ...Object.fromEntries(fields), form_token: await formToken(context, "logout", shown) },
    hasActive: active !== undefined,
    user: active?.sub === undefined ? undefined : await isolate.users.find(context, active.sub),
    hasOthers: all.some((each) => each !== active),
    client: logout.client?.status === "active" ? clientMark(logout.client).name : undefined,
    fault: logout.fault,
  };
  const page = <LogoutPage frame={await frameOf(context, request, logout.uiLocales)} view={view} />;
  return respondPage(page, { formLeaves: logout.returnTo !== undefined });
}
