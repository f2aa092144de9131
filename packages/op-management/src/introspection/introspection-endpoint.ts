import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { authenticateClient, authenticatedUntilMs, countRequestOf } from "@edge-op/shared/callers/authenticate-client";
import { invalidClient } from "@edge-op/shared/callers/presented-credentials";
import { type Client, isPublicClient } from "@edge-op/shared/clients/client";
import { signatureFor } from "@edge-op/shared/clients/security-profile";
import { settle } from "@edge-op/shared/control/settle";
import { type EndpointResponse, JsonResponse, noStore } from "@edge-op/shared/http/json-response";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { RevocationSubject } from "@edge-op/shared/leases/revocation-subject";
import { readAccessToken, revocationSubjects } from "@edge-op/shared/tokens/access-token";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { introspectRefreshToken } from "./introspect-refresh-token.ts";
import { maySee, noteInvisible } from "./introspection-authority.ts";
import { cachedResponse } from "./introspection-cache.ts";
import { describeAccessToken, inactive } from "./introspection-response.ts";

const path = "/introspect";

/**
 * **`POST /introspect`.** The response is `{ "active": false }` unless the token verifies, the caller may see it, and it is not revoked; every
 * failure looks the same. Cost of a warm request: 0 object, 0 KV, 0 D1 calls (`direct`: 1 object call; response cache on: 1 KV read); a refresh token
 * 1 object call. 1 verification, 0 for a token seen before. For a request that equals one of the last seconds, only the rate limit and the revocation
 * of the token are checked (control/remembered-decisions.ts).
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662#section-2
 */
export async function introspectionEndpoint(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
): Promise<EndpointResponse> {
  const { decisions } = isolate;
  const signs = acceptsSignedResponse(request);
  const form = signs || decisions.find(context, path, request) === undefined ? readForm(request) : undefined;
  const { caller, response } = await settle(context, isolate, async () => {
    const known = form === undefined ? decisions.find<ActiveToken>(context, path, request) : undefined;
    if (known !== undefined) return introspectAgain(context, isolate, known);
    const parameters = form ?? readForm(request);
    const client = await authenticateClient(context, isolate, request, parameters, path);
    if (isPublicClient(client)) throw invalidClient("introspection-by-public-client", false);
    const token = parameters.require("token");
    return { caller: client, response: await introspect(context, isolate, request, client, token) };
  });
  return signs ? respondSigned(context, isolate, caller, response.body) : response;
}

/** The remembered content of an active token, which cannot change except by revocation. */
interface ActiveToken {
  readonly caller: Client;
  readonly subjects: readonly RevocationSubject[];
  readonly response: JsonResponse;
}

async function introspectAgain(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  { caller, subjects, response }: ActiveToken,
): Promise<Pick<ActiveToken, "caller" | "response">> {
  countRequestOf(context, isolate, caller, path);
  const isRevoked = await isolate.revocation.isRevoked(context, subjects);
  return { caller, response: isRevoked ? inactiveResponse : response };
}

const inactiveResponse = new JsonResponse(inactive);

async function introspect(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  caller: Client,
  token: string,
): Promise<JsonResponse> {
  if (token.startsWith("rt.")) return new JsonResponse(await introspectRefreshToken(context, isolate, caller, token));
  const accessToken = await readAccessToken(context, isolate, token);
  if (accessToken === undefined) return inactiveResponse;
  if (!maySee(caller, accessToken)) {
    noteInvisible(context, caller, accessToken);
    return inactiveResponse;
  }
  const subjects = revocationSubjects(accessToken);
  if (await isolate.revocation.isRevoked(context, subjects)) return inactiveResponse;
  const describe = () => describeAccessToken(context.settings.issuer, accessToken);
  if (context.settings.introspectionCache) {
    return new JsonResponse(await cachedResponse(context, caller, token, describe));
  }
  const body = describe();
  const response = new JsonResponse(body, { text: JSON.stringify(body) });
  const untilMs = authenticatedUntilMs(caller, context.arrivedAtMs);
  if (untilMs !== undefined) {
    const decision: ActiveToken = { caller, subjects, response };
    const endsAtMs = Math.min(untilMs, accessToken.expiresAtSeconds * 1000);
    isolate.decisions.add(context, path, request, { decision, endsAtMs });
  }
  return response;
}

const signedType = "token-introspection+jwt";

function acceptsSignedResponse(request: ReceivedRequest): boolean {
  const accept = (request.headers.get("accept") ?? "").toLowerCase();
  if (!accept.includes(signedType)) return false;
  return accept.split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    // RFC 9110 §12.4.2: a quality of 0 means "not acceptable".
    return type === `application/${signedType}` && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** @see https://www.rfc-editor.org/rfc/rfc9701#section-5 */
async function respondSigned(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  caller: Client,
  response: unknown,
): Promise<Response> {
  const { introspection_signed_response_alg: registered } = caller.metadata;
  const jwt = await isolate.keyRing.sign(context, {
    alg: signatureFor(context.settings, caller, registered, "RS256"),
    typ: signedType,
    claims: {
      iss: context.settings.issuer,
      aud: caller.clientId,
      iat: toSeconds(context.arrivedAtMs),
      token_introspection: response,
    },
  });
  return new Response(jwt, { headers: { ...noStore, "Content-Type": `application/${signedType}` } });
}
