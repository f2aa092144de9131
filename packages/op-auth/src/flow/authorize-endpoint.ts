import { identifyBrowser } from "@edge-op/pages/cookies";
import { redirect, withCookies } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import { type OpenDecision, settle } from "@edge-op/shared/control/settle";
import { collectParameters, type Form, readForm, refuseRepeats } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { authorizationParameters, type ResponseTarget } from "../authorization/authorization-request.ts";
import { checkRequest } from "../authorization/check-request.ts";
import { findClient, readRequestAhead } from "../authorization/find-client.ts";
import { formatRequestUri, parseRequestUri } from "../authorization/pushed-request.ts";
import { refuseToClient } from "../authorization/refuse-to-client.ts";
import { readRequestObject } from "../authorization/request-object.ts";
import { checkResponseTarget, isRegisteredRedirectUri } from "../authorization/response-target.ts";
import {
  openParameters,
  parameterValues,
  type StoredParameters,
  storeParameters,
  withScope,
} from "../authorization/stored-parameters.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { readAccounts } from "../session/browser-accounts.ts";
import { newFlow } from "../step/sealed-flow.ts";
import { decideAuthorization } from "./decide-authorization.ts";

/** The parameters of a request whose request object or reference has been read. */
const decidedParameters = authorizationParameters.filter((name) => name !== "request" && name !== "request_uri");

/** Long enough for a browser to follow a redirect. */
const postedLifetimeMs = 60_000;

/**
 * **`/authorize`**: reads the request (query, form, pushed or stored), checks it (check-request.ts) and decides it (decide-authorization.ts). An
 * unknown or repeated client or redirect URI is an error page; every other refusal is sent to the client. Cost: see decide-authorization.ts; 1 object
 * call more for a pushed request or one posted by another site. Calls that follow one another in a cold isolate, after a pause, in a busy one: 2/1/0
 * without a session, 4/3/2 for a silent response.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthorizationEndpoint
 */
export async function authorizeEndpoint(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<Response> {
  const given =
    request.method === "POST"
      ? readForm(request, collectParameters)
      : collectParameters(new URL(request.url).searchParams);
  context.progress.claimedClientId = given.get("client_id");
  // A form posted by another site is sent without Lax cookies; a GET that follows is sent with them.
  const isForeignPost = request.method === "POST" && (await readAccounts(context, request)).all.length === 0;
  // Before the object of a pushed request is called.
  const begun = readRequestAhead({ context, isolate, request }, given);
  const received = await receiveParameters(context, isolate, given, isForeignPost);
  const { pushedId } = received;
  context.progress.parameters = received.parameters;
  const decide = async (decision: OpenDecision) => {
    const client = await findClient(context, isolate, received.parameters);
    const reference = isForeignPost ? ownReference(given) : undefined;
    if (reference !== undefined) return continueAsGet(client, reference);
    // The target of a refusal; until it is known, the refusal is a page.
    let target = outerTarget(context, client, received);
    let posted = given;
    try {
      const parameters = await readParameters(context, isolate, client, received);
      context.progress.parameters = parameters;
      // The parameters of the request object decide, not those beside it.
      target = undefined;
      target = checkResponseTarget(context.settings, client, parameters);
      requirePushed(context, client, given, received);
      const checked = await checkRequest({ context, isolate, client, parameters }, target);
      // The scope of a request object is part of its signed text.
      if (given.get("request") === undefined) posted = withScope(given, checked.scope);
      if (!isForeignPost) {
        const at = { context, isolate, request };
        const values = parameterValues(withScope(parameters, checked.scope), decidedParameters);
        const flow = await newFlow(at, { kind: "authorize", parameters: values, pushedId });
        const browser = await identifyBrowser(context, request);
        const attempt = { client, request: checked, pushedId, decision };
        const response = await decideAuthorization(at, { flow, browser }, attempt);
        return withCookies(response, [browser.setCookie]);
      }
    } catch (error) {
      return refuseToClient(context, isolate, request, { client, target, pushedId, decision }, error);
    }
    await decision.commit();
    return continueAsGet(client, await storePosted(context, isolate, posted));
  };
  return settle(context, isolate, decide, begun);
}

interface ReceivedParameters extends StoredParameters {
  /** The pushed request, which the response spends. */
  readonly pushedId: string | undefined;
}

/**
 * Follows the `request_uri` references that this provider issued; a posted request may contain a pushed one. {@link readParameters} refuses others.
 * Nothing is fetched for a request with a repeated parameter, which is refused.
 */
async function receiveParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  given: Form,
  isForeignPost: boolean,
): Promise<ReceivedParameters> {
  let received: ReceivedParameters = { parameters: given, pushedBy: undefined, pushedId: undefined };
  const steps = isForeignPost || given.repeated.size > 0 ? 0 : 2;
  for (let step = 0; step < steps && received.pushedBy === undefined; step += 1) {
    const id = parseRequestUri(received.parameters.get("request_uri"));
    if (id === undefined) break;
    const stored = await openReferenced(context, isolate, id, given.require("client_id"));
    received = { ...stored, pushedId: stored.pushedBy === undefined ? undefined : id };
  }
  return received;
}

/** RFC 9126 §4: it may be opened again (a reload) until a response has been sent for it. */
async function openReferenced(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  id: string,
  clientId: string,
): Promise<StoredParameters> {
  const stored = await openParameters(context, isolate, "authorization-request", id);
  if (stored === undefined || (stored.pushedBy ?? stored.parameters.get("client_id")) !== clientId) {
    throw new OAuthError("invalid_request_uri", "request-uri-invalid");
  }
  return stored;
}

/** A pushed request, which its `request_uri` alone identifies (RFC 9126 §4): it is not stored again. */
function ownReference(given: Form): string | undefined {
  const reference = given.get("request_uri");
  return given.repeated.size === 0 && parseRequestUri(reference) !== undefined ? reference : undefined;
}

function continueAsGet({ clientId }: Client, requestUri: string): Response {
  return redirect(`/authorize?${new URLSearchParams({ client_id: clientId, request_uri: requestUri })}`);
}

/** The target for the refusal of an invalid request object, if the parameters outside it contain a valid one. */
function outerTarget(
  { settings }: RequestContext<AuthEnv>,
  client: Client,
  { parameters, pushedBy }: StoredParameters,
): ResponseTarget | undefined {
  const redirectUri = parameters.get("redirect_uri");
  if (pushedBy !== undefined || redirectUri === undefined) return undefined;
  if (!isRegisteredRedirectUri(client.metadata, redirectUri)) return undefined;
  return checkResponseTarget(settings, client, parameters);
}

async function readParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  client: Client,
  { parameters: received, pushedBy }: StoredParameters,
): Promise<Form> {
  if (pushedBy !== undefined) return received;
  // RFC 6749 §3.1: checked before any parameter is used.
  refuseRepeats(received);
  // A request object is never fetched by URL.
  if (received.get("request_uri") !== undefined)
    throw new OAuthError("request_uri_not_supported", "request-uri-foreign");
  return readRequestObject(context, isolate, client, received);
}

/**
 * FAPI 2.0 §5.3.3.2: all parameters are pushed, and no other is used. One beside the reference that differs from the pushed one comes from
 * somebody between the client and this provider, or from a client that relies on it. Equal ones are what OIDC Core §6.2 asks for.
 */
function requirePushed(
  { settings }: RequestContext<AuthEnv>,
  client: Client,
  given: Form,
  { parameters, pushedBy }: StoredParameters,
): void {
  const hasProfile = isFapi(settings, client);
  if (!hasProfile && !client.metadata.require_pushed_authorization_requests) return;
  if (pushedBy === undefined) throw new OAuthError("invalid_request", "request-not-pushed");
  const isPushed = (name: string) => JSON.stringify(given.all(name)) === JSON.stringify(parameters.all(name));
  const other = given.names.find((name) => name !== "request_uri" && !isPushed(name));
  if (!hasProfile || other === undefined) return;
  throw new OAuthError("invalid_request", "fapi-parameter-differs", {
    detail: `${other} differs`,
    description: "FAPI 2.0 allows only the parameters client_id and request_uri.",
  });
}

/** Stores a posted request for the GET that follows, and returns its `request_uri`. */
async function storePosted(context: RequestContext<AuthEnv>, isolate: AuthIsolate, parameters: Form): Promise<string> {
  const stored = { parameters, pushedBy: undefined };
  const kind = "authorization-request";
  const id = await storeParameters(context, isolate, kind, authorizationParameters, stored, {
    openMs: postedLifetimeMs,
  });
  return formatRequestUri(id);
}
