import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { readDetails } from "@edge-op/protocol/oauth/authorization-details";
import { formatConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { formatScope } from "@edge-op/protocol/oauth/scope";
import {
  authenticateClient,
  authenticatedUntilMs,
  countRequestOf,
  namedClientId,
} from "@edge-op/shared/callers/authenticate-client";
import { invalidClient } from "@edge-op/shared/callers/presented-credentials";
import { readAhead } from "@edge-op/shared/callers/read-ahead";
import { type Client, isPublicClient } from "@edge-op/shared/clients/client";
import { signatureFor } from "@edge-op/shared/clients/security-profile";
import type { Repeatable } from "@edge-op/shared/control/remembered-decisions";
import { settle } from "@edge-op/shared/control/settle";
import { type EndpointResponse, JsonResponse, noStore } from "@edge-op/shared/http/json-response";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { grantSubject, isCutOffByRecords, type RevocationSubject } from "@edge-op/shared/leases/revocation-subject";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { type CacheBindings, readCache, writeCache } from "@edge-op/shared/storage/kv-cache";
import { readAccessToken, revocationSubjects } from "@edge-op/shared/tokens/access-token";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import {
  describeAccessToken,
  type IntrospectionResponse,
  inactive,
  maySee,
  noteInvisible,
} from "./introspection-response.ts";

const path = "/introspect";

/**
 * **`POST /introspect`.** The response is `{ "active": false }` unless the token verifies, the caller may see it, and it is not revoked; every
 * failure looks the same. Cost of a warm request: 0 object, 0 KV, 0 D1 calls (`direct`: 1 object call; response cache on: 1 KV read); a refresh token
 * 1 object call. 1 verification, 0 for a token seen before. For a request that equals one of the last seconds, only the rate limit and the revocation
 * of the token are checked (control/remembered-decisions.ts). Calls that follow one another: 2 in a cold isolate, 1 after a pause, none in a busy
 * one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662#section-2
 */
export async function introspectionEndpoint(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
): Promise<EndpointResponse> {
  const decide = isolate.decisions.around(context, path, request, {
    read: () => readForm(request),
    decide: (form) => decideRequest(context, isolate, request, form),
    again: ({ caller }) => countRequestOf(context, isolate, caller, path),
  });
  const decideAndCheck = async () => {
    const decision = await decide();
    const isRevoked = await isolate.revocation.isRevoked(context, decision.subjects);
    return isRevoked ? { ...decision, response: inactiveResponse } : decision;
  };
  const begun = readAhead(context, isolate, request, () => [
    { clientIds: [namedClientId(request, readForm(request))] },
  ]);
  const { caller, response } = await settle(context, isolate, decideAndCheck, begun);
  return acceptsSignedResponse(request) ? respondSigned(context, isolate, caller, response.body) : response;
}

/** The remembered content of an active token, which cannot change except by revocation. */
interface Decision extends Repeatable {
  readonly caller: Client;
  readonly response: JsonResponse;
  readonly subjects: readonly RevocationSubject[];
}

const inactiveResponse = new JsonResponse(inactive);

async function decideRequest(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  form: Form,
): Promise<Decision> {
  const caller = await authenticateClient(context, isolate, request, form, path);
  if (isPublicClient(caller)) throw invalidClient("introspection-by-public-client", false);
  const token = form.require("token");
  if (token.startsWith("rt.")) {
    const body = await introspectRefreshToken(context, isolate, caller, token);
    return { caller, response: new JsonResponse(body), subjects: [] };
  }
  const accessToken = await readAccessToken(context, isolate, token);
  if (accessToken === undefined) return { caller, response: inactiveResponse, subjects: [] };
  if (!maySee(caller, accessToken)) {
    noteInvisible(context, caller, accessToken);
    return { caller, response: inactiveResponse, subjects: [] };
  }
  const { introspectionCache, issuer } = context.settings;
  const describe = () => describeAccessToken(issuer, accessToken);
  const body = introspectionCache ? await cachedResponse(context, caller, token, describe) : describe();
  const untilMs = Math.min(authenticatedUntilMs(caller, context.arrivedAtMs), accessToken.expiresAtSeconds * 1000);
  return {
    caller,
    response: new JsonResponse(body, { text: JSON.stringify(body) }),
    subjects: revocationSubjects(accessToken),
    ...(!introspectionCache && { repeatableUntilMs: untilMs }),
  };
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

const lifetimeSeconds = 60;

/**
 * **The optional response cache** (`INTROSPECTION_CACHE=true`): active responses for 60 s in KV, keyed by the hash of caller and token. It is read
 * only after the token was verified and found not revoked, so a hit is never outdated in these respects. Cost: 1 KV read, and 1 write after a miss.
 */
async function cachedResponse(
  context: RequestContext<CacheBindings>,
  caller: Client,
  token: string,
  describe: () => IntrospectionResponse,
): Promise<IntrospectionResponse> {
  const key = `introspection:${encodeBase64Url(await sha256(`${caller.clientId} ${token}`))}`;
  const cached = await readCache<IntrospectionResponse>(context, key);
  if (cached !== undefined) return cached;
  const response = describe();
  writeCache(context, key, response, lifetimeSeconds);
  return response;
}

/**
 * **Introspects a refresh token.** It is active if it is the one to be used next, its family is live and its grant is not revoked.
 * Visible to its client, and to clients that may introspect that client's tokens. Cost warm: 1 object call.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662#section-2.2
 */
export async function introspectRefreshToken(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  caller: Client,
  token: string,
): Promise<IntrospectionResponse> {
  const refreshToken = await readRefreshToken(context, token);
  if (refreshToken === undefined) return inactive;
  const state = await isolate.refreshFamilies.inspect(context, refreshToken);
  if (state === undefined || !state.live || !state.current) return inactive;
  const { family } = state;
  // The only audience of a refresh token is this provider, so no audience makes it visible.
  const seen = { clientId: family.clientId, audiences: [] };
  if (!maySee(caller, seen)) {
    noteInvisible(context, caller, seen);
    return inactive;
  }
  // The place of its next access token: its family decides about the grant, the shard about cut-offs.
  const { grantId, address } = family.grant;
  const place = await isolate.shardMap.placeAgain(context, "revocation", address, grantId);
  const subject = grantSubject({ grantId, address: place }, family);
  const { orgId } = family;
  const [user, client, membership, isRevoked] = await Promise.all([
    isolate.users.find(context, family.sub),
    isolate.clients.find(context, family.clientId),
    orgId === undefined ? undefined : isolate.users.findMembership(context, orgId, family.sub),
    isolate.revocation.isRevoked(context, [subject]),
  ]);
  // A refresh with this token would be refused because of the same records.
  if (isRevoked || user?.status !== "active" || client?.status !== "active") return inactive;
  if (orgId !== undefined && membership?.status !== "active") return inactive;
  if (isCutOffByRecords(subject, [user, client, membership])) return inactive;
  return {
    active: true,
    token_type: "refresh_token",
    client_id: family.clientId,
    org_id: orgId,
    sub: family.pairwiseSub ?? family.sub,
    iss: context.settings.issuer,
    iat: toSeconds(family.grant.grantCreatedAtMs),
    exp: toSeconds(family.expiresAtMs),
    scope: family.scope.length === 0 ? undefined : formatScope(family.scope),
    authorization_details: readDetails(family.authorizationDetails),
    cnf: formatConfirmation(family.cnf),
  };
}
