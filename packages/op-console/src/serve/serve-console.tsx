import { createFrame } from "@edge-op/pages/frame";
import { ErrorPage, type ErrorView, MessagePage } from "@edge-op/pages/message-pages";
import { respondPage } from "@edge-op/pages/respond-page";
import type { Translator } from "@edge-op/pages/translator";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Failure } from "@edge-op/shared/http/failure";
import { readForm } from "@edge-op/shared/http/read-form";
import { AdminApi, ChangeRefused, SignInEnded } from "../api/admin-api.ts";
import type { ConsoleCall } from "../api/console-call.ts";
import { endSessionCookie, readSession } from "../session/session.ts";
import { beginSignIn } from "../session/sign-in.ts";
import { readConsoleBranding } from "./branding.ts";
import { requireToken } from "./define-page.tsx";
import { type ConsoleKey, consoleCatalog } from "./messages.ts";
import { type ConsoleRoute, mayUse, memberPath, type SignedIn } from "./route.ts";

/** A page that is opened gets a new token before the old one ends, so that there is time for its form. */
const renewalMs = 10 * 60_000;

/**
 * **A request of a browser to a page of the console.** Without a session, and with one that ends soon, a page leads through the sign-in, which is
 * unseen while the provider's session lasts. A form without a session changes nothing.
 */
export async function respondRoute(
  at: ConsoleCall,
  route: ConsoleRoute,
  parameters: Readonly<Record<string, string>>,
): Promise<Response> {
  const { context, request } = at;
  const orgId = route.isOfMember ? parameters["org_id"] : undefined;
  const session = await readSession(context, request, orgId);
  const { pathname, search, searchParams } = new URL(request.url);
  const isOpened = request.method === "GET";
  const isEnding = session === undefined || session.expiresAtMs - context.arrivedAtMs < renewalMs;
  if (isOpened && isEnding) return beginSignIn(at, pathname + search, orgId);
  if (session === undefined) return signInAgain(at, orgId);
  if (!mayUse(session, route.scope)) throw new OAuthError("insufficient_scope", "scope-insufficient");
  const signedIn: SignedIn = {
    ...at,
    session,
    api: new AdminApi(at, session.token, orgId && `/organizations/${encodeURIComponent(orgId)}`),
    parameter: (name) => parameters[name] ?? "",
    query: searchParams,
    path: pathname,
  };
  try {
    return await route.respond(signedIn);
  } catch (error) {
    if (error instanceof SignInEnded) return signInAgain(at, orgId);
    // A page's own query, such as a cursor that somebody has changed.
    if (error instanceof ChangeRefused) {
      throw new OAuthError("invalid_request", "query-invalid", { description: error.message, detail: error.message });
    }
    throw error;
  }
}

/** A button, not a redirect: a token that is refused at once must not lead in a circle. */
async function signInAgain({ context, request }: ConsoleCall, orgId: string | undefined): Promise<Response> {
  const frame = await frameOf({ context, request });
  const link = { href: orgId === undefined ? "/console" : memberPath(orgId), text: frame.t("console.signIn") };
  const page = (
    <MessagePage
      frame={frame}
      title={frame.t("console.ended")}
      text={frame.t("console.endedText")}
      link={link}
      sign="ended"
    />
  );
  return respondPage(page, { status: 401, cookies: [endSessionCookie(context, orgId)], foreignImages: false });
}

/** **`POST /console/sign-out`**, and of an organisation: ends the console's session; the next page offers the provider's sign-out. */
export async function signOut(at: ConsoleCall, orgId?: string): Promise<Response> {
  const { context, request } = at;
  const session = await readSession(context, request, orgId);
  const path = new URL(request.url).pathname;
  if (session !== undefined) {
    await requireToken({ ...at, session, path }, readForm(request).get("token"));
  }
  const frame = await frameOf(at);
  const provider = frame.branding.name;
  const page = (
    <MessagePage
      frame={frame}
      title={frame.t("console.signedOut")}
      text={frame.t("console.signedOutText", { provider })}
      link={{ href: `${context.settings.issuer}/logout`, text: frame.t("console.signOutOfProvider", { provider }) }}
    />
  );
  return respondPage(page, { cookies: [endSessionCookie(context, orgId)], foreignImages: false });
}

function frameOf({ context, request }: Pick<ConsoleCall, "context" | "request">) {
  return createFrame(context, request, readConsoleBranding(context.env), consoleCatalog);
}

/** The page of a failure. The reason of a refusal is in the log, by the reference. */
export async function respondFailure(
  at: Pick<ConsoleCall, "context" | "request">,
  failure: Failure,
): Promise<Response> {
  const frame = await frameOf(at);
  const [, orgId] = /^\/organization\/([^/]+)/.exec(new URL(at.request.url).pathname) ?? [];
  const home = orgId === undefined ? "/console" : `/organization/${orgId}`;
  const view = { ...describe(failure, frame.t, home), reference: at.context.requestId };
  const { status, headers } = failure;
  return respondPage(<ErrorPage frame={frame} view={view} />, { status, headers, foreignImages: false });
}

function describe(
  { kind, code, error }: Failure,
  t: Translator<ConsoleKey>,
  home: string,
): Omit<ErrorView, "reference"> {
  const overview = { href: home, text: t("console.toOverview") };
  const common = { code, description: undefined, link: overview };
  if (kind === "unavailable") return { ...common, text: t("error.unavailable") };
  if (kind === "bug") return { ...common, text: t("error.server") };
  const reason = error instanceof OAuthError ? error.reason : undefined;
  if (reason === "console-sign-in-failed") {
    const link = { href: home, text: t("console.signIn") };
    return { ...common, title: t("console.notSignedIn"), text: t("console.notSignedInText"), link };
  }
  if (reason === "form-token-invalid") {
    return { ...common, title: t("console.tokenInvalid"), text: t("console.tokenInvalidText") };
  }
  if (code === "insufficient_scope") {
    return { ...common, title: t("console.forbidden"), text: t("console.forbiddenText") };
  }
  if (code === "not_found") return { ...common, title: t("notFound.title"), text: t("notFound.text") };
  return { ...common, text: t("error.expired") };
}
