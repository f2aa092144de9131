import { redirect } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import { settle } from "@edge-op/shared/control/settle";
import { reportFailure } from "@edge-op/shared/http/failure";
import { collectParameters, type Form, readForm, refuseRepeats } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { readCookie } from "../browser/cookies.ts";
import { openParameters, type StoredParameters, storeParameters } from "../browser/stored-parameters.ts";
import type { AuthIsolate } from "../isolate.ts";
import { authorizationParameters, type ResponseTarget } from "./checks/authorization-request.ts";
import { checkRequest } from "./checks/check-request.ts";
import { findClient } from "./checks/find-client.ts";
import { readRequestObject } from "./checks/request-object.ts";
import { checkResponseTarget } from "./checks/response-target.ts";
import { continueAuthorization } from "./continue-authorization.ts";
import type { Attempt } from "./decide-authorization.ts";
import { ExpiredInteractionError } from "./interaction.ts";
import { spendPushedRequest } from "./pushed-request.ts";
import { formatRequestUri, parseRequestUri } from "./request-uri.ts";
import { respondToClient } from "./respond-to-client.tsx";

/** Long enough for a browser to follow a redirect. */
const postedLifetimeMs = 60_000;

/**
 * **`/authorize`**: reads the request (query, form, pushed or stored), checks it (checks/check-request.ts) and decides it
 * (decide-authorization.ts). An unknown or repeated client or redirect URI is an error page; every other refusal is sent to the client.
 * Cost: see decide-authorization.ts; 1 object call more for a pushed request or one posted by another site.
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
  // A request with a repeated parameter is refused; nothing is stored or fetched for it.
  const isWhole = given.repeated.size === 0;
  const isForeignPost = request.method === "POST" && readCookie(context, request, "op-session") === undefined;
  const received: ReceivedParameters =
    isWhole && !isForeignPost
      ? await receiveParameters(context, isolate, given)
      : { parameters: given, pushedBy: undefined, pushedId: undefined };
  return settle(context, isolate, async (decision) => {
    const client = await findClient(context, isolate, received.parameters);
    try {
      if (isWhole && isForeignPost) return await continueAsGet(context, isolate, { client, given, decision });
      const resolved = await resolve(context, isolate, client, received);
      requireNothingElse(context, client, given, resolved);
      const { parameters, target } = resolved;
      const { pushedId } = received;
      return await decide(context, isolate, request, { client, parameters, target, pushedId, decision });
    } catch (error) {
      if (!(error instanceof RedirectedRefusal)) throw error;
      await decision.commit();
      await spendPushedRequest(context, isolate, received.pushedId);
      const { code, description } = reportFailure(error.refusal, context.requestId, context.progress);
      const response = { error: code, error_description: description };
      return respondToClient(context, isolate, request, client, error.target, response);
    }
  });
}

/** A refusal that is sent to the client. */
class RedirectedRefusal extends Error {
  readonly target: ResponseTarget;
  readonly refusal: OAuthError;

  constructor(target: ResponseTarget, refusal: OAuthError) {
    super(refusal.message);
    this.target = target;
    this.refusal = refusal;
  }
}

async function sendingRefusalsTo<T>(target: ResponseTarget | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isForClient = error instanceof OAuthError && !(error instanceof ExpiredInteractionError);
    throw isForClient && target !== undefined ? new RedirectedRefusal(target, error) : error;
  }
}

/**
 * A form posted by another site is sent without Lax cookies; a GET that follows is sent with them. Nothing is stored for a request that would be
 * refused, or for a pushed one, which `request_uri` alone identifies (RFC 9126 §4).
 */
async function continueAsGet(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  { client, given, decision }: Pick<Attempt, "client" | "decision"> & { readonly given: Form },
): Promise<Response> {
  const goOn = (requestUri: string) =>
    redirect(`/authorize?${new URLSearchParams({ client_id: client.clientId, request_uri: requestUri })}`);
  const reference = given.get("request_uri");
  if (reference !== undefined && parseRequestUri(reference) !== undefined) return goOn(reference);
  const stored = { parameters: given, pushedBy: undefined };
  const { parameters, target } = await resolve(context, isolate, client, stored);
  await sendingRefusalsTo(target, () => checkRequest({ context, isolate, client, parameters }, target));
  await decision.commit();
  const id = await storeParameters(context, isolate, "authorization-request", authorizationParameters, stored, {
    openMs: postedLifetimeMs,
  });
  return goOn(formatRequestUri(id));
}

/**
 * FAPI 2.0 §5.3.3.2: all parameters are pushed, and no other is used. One beside the reference that differs from the pushed one comes from
 * somebody between the client and this provider, or from a client that relies on it. Equal ones are what OIDC Core §6.2 asks for.
 */
function requireNothingElse(
  { settings }: RequestContext<AuthEnv>,
  client: Client,
  given: Form,
  { parameters, target }: Resolved,
): void {
  if (!isFapi(settings, client)) return;
  const isPushed = (name: string) => JSON.stringify(given.all(name)) === JSON.stringify(parameters.all(name));
  const other = given.names.find((name) => name !== "request_uri" && !isPushed(name));
  if (other === undefined) return;
  const description = "FAPI 2.0 allows the parameters client_id and request_uri alone.";
  throw new RedirectedRefusal(
    target,
    new OAuthError("invalid_request", "fapi-parameter-differs", { detail: `${other} differs`, description }),
  );
}

interface ReceivedParameters extends StoredParameters {
  /** The pushed request, which the response spends. */
  readonly pushedId: string | undefined;
}

/** Follows the `request_uri` references that this provider issued; a posted request may contain a pushed one. {@link resolve} refuses others. */
async function receiveParameters(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  given: Form,
): Promise<ReceivedParameters> {
  let received: ReceivedParameters = { parameters: given, pushedBy: undefined, pushedId: undefined };
  for (let step = 0; step < 2 && received.pushedBy === undefined; step += 1) {
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

interface Resolved {
  readonly parameters: Form;
  readonly target: ResponseTarget;
}

async function resolve(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  client: Client,
  { parameters: received, pushedBy }: StoredParameters,
): Promise<Resolved> {
  if (pushedBy !== undefined)
    return { parameters: received, target: checkResponseTarget(context.settings, client, received) };
  const outerTarget = outerResponseTarget(context, client, received);
  const parameters = await sendingRefusalsTo(outerTarget, async () => {
    // RFC 6749 §3.1: checked before any parameter is used.
    refuseRepeats(received);
    // A request object is never fetched by URL.
    if (received.get("request_uri") !== undefined)
      throw new OAuthError("request_uri_not_supported", "request-uri-foreign");
    return readRequestObject(context, isolate, client, received);
  });
  const target = checkResponseTarget(context.settings, client, parameters);
  if (client.metadata.require_pushed_authorization_requests || isFapi(context.settings, client)) {
    throw new RedirectedRefusal(target, new OAuthError("invalid_request", "request-not-pushed"));
  }
  return { parameters, target };
}

/** The target for the refusal of an invalid request object, if the parameters outside it contain a valid one. */
function outerResponseTarget(
  { settings }: RequestContext<AuthEnv>,
  client: Client,
  outer: Form,
): ResponseTarget | undefined {
  try {
    return checkResponseTarget(settings, client, outer);
  } catch (error) {
    if (error instanceof OAuthError) return undefined;
    throw error;
  }
}

function decide(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  resolved: Resolved & Pick<Attempt, "client" | "pushedId" | "decision">,
): Promise<Response> {
  const { client, parameters, target, pushedId, decision } = resolved;
  return sendingRefusalsTo(target, async () => {
    const authorization = await checkRequest({ context, isolate, client, parameters }, target);
    const sessionId = readCookie(context, request, "op-session");
    return continueAuthorization(context, isolate, request, {
      client,
      request: authorization,
      pushedId,
      sessionId,
      steps: {},
      decision,
    });
  });
}
