import { authenticateClient } from "@edge-op/shared/client-auth/authenticate-client";
import { invalidClient } from "@edge-op/shared/client-auth/presented-credentials";
import { type Client, isPublicClient } from "@edge-op/shared/directory/client";
import { signatureFor } from "@edge-op/shared/directory/security-profile";
import { type EndpointResponse, JsonResponse, noStore } from "@edge-op/shared/http/json-response";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { settle } from "@edge-op/shared/revocation/settle";
import { toSeconds } from "@edge-op/shared/runtime/clock";
import { readAccessToken, revocationSubjects } from "@edge-op/shared/tokens/access-token";
import type { ManagementIsolate } from "../isolate.ts";
import type { ManagementEnv } from "../management-env.ts";
import { introspectRefreshToken } from "./introspect-refresh-token.ts";
import { maySee, noteInvisible } from "./introspection-authority.ts";
import { cachedResponse } from "./introspection-cache.ts";
import { describeAccessToken, type IntrospectionResponse, inactive } from "./introspection-response.ts";

/**
 * **`POST /introspect`.** The response is `{ "active": false }` unless the token verifies, the caller may see it, and it is not
 * revoked; every failure looks the same. Cost of a warm request: 0 object, 0 KV, 0 D1 calls (`direct`: 1 object call; response
 * cache on: 1 KV read); a refresh token 1 object call. 1 verification, 0 for a token seen before.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662#section-2
 */
export async function introspectionEndpoint(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
): Promise<EndpointResponse> {
  const form = readForm(request);
  const { caller, response } = await settle(context, isolate, async () => {
    const client = await authenticateClient(context, isolate, request, form, "/introspect");
    if (isPublicClient(client)) throw invalidClient("introspection-by-public-client", false);
    return { caller: client, response: await introspect(context, isolate, client, form.require("token")) };
  });
  return acceptsSignedResponse(request)
    ? respondSigned(context, isolate, caller, response)
    : new JsonResponse(response);
}

async function introspect(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  caller: Client,
  token: string,
): Promise<IntrospectionResponse> {
  if (token.startsWith("rt.")) return introspectRefreshToken(context, isolate, caller, token);
  const accessToken = await readAccessToken(context, isolate, token);
  if (accessToken === undefined) return inactive;
  if (!maySee(caller, accessToken)) {
    noteInvisible(context, caller, accessToken);
    return inactive;
  }
  if (await isolate.revocation.isRevoked(context, revocationSubjects(accessToken))) return inactive;
  const describe = () => describeAccessToken(context.settings.issuer, accessToken);
  return context.settings.introspectionCache ? cachedResponse(context, caller, token, describe) : describe();
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
  response: IntrospectionResponse,
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
