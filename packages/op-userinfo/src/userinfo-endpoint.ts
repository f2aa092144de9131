import { organizationsScope } from "@edge-op/protocol/oauth/claims";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { type ReadAheadNames, readAhead } from "@edge-op/shared/callers/read-ahead";
import {
  findAccessToken,
  type PresentationScheme,
  type PresentedToken,
  requireUnrevoked,
  resourceError,
  verifyPresented,
} from "@edge-op/shared/callers/require-access-token";
import type { Client } from "@edge-op/shared/clients/client";
import { encryptForClient, encryptsFor } from "@edge-op/shared/clients/encrypt-for-client";
import { signatureFor } from "@edge-op/shared/clients/security-profile";
import type { Repeatable } from "@edge-op/shared/control/remembered-decisions";
import { settle } from "@edge-op/shared/control/settle";
import { findHookClaims } from "@edge-op/shared/hooks/find-hook-claims";
import { type EndpointResponse, JsonResponse, noStore } from "@edge-op/shared/http/json-response";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { peekAccessToken } from "@edge-op/shared/tokens/access-token";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import { mappedClaims } from "@edge-op/shared/users/attributes";
import { includesRbac, selectClaims, visibleClaims } from "@edge-op/shared/users/user";
import type { UserinfoEnv } from "@edge-op/workers/env";
import type { UserinfoIsolate } from "./isolate.ts";

const path = "/userinfo";

/**
 * **`GET` and `POST /userinfo`**: the claims of the access token's user that its scope covers, mapped attributes included, as JSON or signed. Cost
 * of a warm request: 0 object, 0 KV, 0 D1 calls (`direct`: 1 object call); 1 verification, 0 for a token seen before; 1 signature for clients that
 * register one. A DPoP proof adds 1 object call, no row, and 1 verification; the hook `claims`, 1 RPC; the scope `organizations`, 1 D1 call. Calls
 * that follow one another: 2 in a cold isolate, 1 after a pause, none in a busy one. For a request that equals one of the last seconds,
 * only revocation is checked (control/remembered-decisions.ts).
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#UserInfo
 */
export async function userinfoEndpoint(
  context: RequestContext<UserinfoEnv>,
  isolate: UserinfoIsolate,
  request: ReceivedRequest,
): Promise<EndpointResponse> {
  const decide = isolate.decisions.around(context, path, request, {
    read: () => findPresented(request),
    decide: (presented) => describe(context, isolate, request, presented),
    again: async ({ accessToken }) => {
      context.progress.clientId = accessToken.clientId;
      await requireUnrevoked(context, isolate, accessToken, "Bearer");
    },
  });
  const begun = readAhead(context, isolate, undefined, () => [namedBy(context, findPresented(request))]);
  const { response } = await settle(context, isolate, decide, begun);
  return response instanceof JsonResponse ? response : respondJwt(context, isolate, response);
}

/** The records that the text of a token names. */
async function namedBy(context: RequestContext<UserinfoEnv>, { token }: PresentedToken): Promise<ReadAheadNames> {
  const named = await peekAccessToken(context, token);
  if (named === undefined) return {};
  const withRbac = includesRbac(visibleClaims(named.scope, named.userinfoClaims));
  return { clientIds: [named.clientId], users: [{ sub: named.sub, withRbac, orgId: named.orgId }] };
}

/** The remembered claims for a token that may read them as plain JSON, until its user or client changes or it is revoked. */
interface DescribedUser extends Repeatable {
  readonly accessToken: AccessToken;
  readonly response: JsonResponse | JwtContent;
}

async function describe(
  context: RequestContext<UserinfoEnv>,
  isolate: UserinfoIsolate,
  request: ReceivedRequest,
  presented: PresentedToken,
): Promise<DescribedUser> {
  const { scheme } = presented;
  const { accessToken, proof } = await verifyPresented(context, isolate, request, presented, path);
  // RFC 6750 §3.1: an expired or revoked token is invalid, whatever its scope.
  if (!accessToken.scope.includes("openid")) await requireUnrevoked(context, isolate, accessToken, scheme);
  requireUserToken(accessToken, context.settings.issuer, scheme);
  const visible = visibleClaims(accessToken.scope, accessToken.userinfoClaims);
  const { orgId } = accessToken;
  const findRbac = async () => {
    if (orgId === undefined) return isolate.users.findRbacClaims(context, accessToken.sub);
    const membership = await isolate.users.findMembership(context, orgId, accessToken.sub);
    if (membership?.status !== "active") throw resourceError(scheme, "invalid_token", "organization-not-member");
    return { ...membership, groups: [] };
  };
  const lists = orgId === undefined && accessToken.scope.includes(organizationsScope);
  const [, user, client, rbac, organizations] = await Promise.all([
    requireUnrevoked(context, isolate, accessToken, scheme),
    isolate.users.find(context, accessToken.sub),
    isolate.clients.find(context, accessToken.clientId),
    includesRbac(visible) || orgId !== undefined ? findRbac() : undefined,
    lists ? isolate.users.findOrganizations(context, accessToken.sub) : undefined,
  ]);
  if (user?.status !== "active") throw resourceError(scheme, "invalid_token", "user-not-active");
  if (client?.status !== "active") throw resourceError(scheme, "invalid_token", "client-not-active");
  const { clientId, scope, userinfoClaims: requested } = accessToken;
  const ofUser = () => rbac ?? findRbac();
  const [ofHook, mapped] = await Promise.all([
    findHookClaims(context, { endpoint: "userinfo", user, rbac: ofUser, client }),
    isolate.users.findMappedValues(context, user),
  ]);
  await proof?.spend();
  const claims = {
    sub: accessToken.pairwiseSub ?? user.sub,
    ...mappedClaims([...ofHook, ...mapped], "userinfo", { clientId, scope, requested }),
    ...selectClaims(user, rbac, visible),
    org_id: orgId,
    ...(organizations && { organizations: organizations.map(({ orgId: id, name }) => ({ id, name })) }),
  };
  const isPlain = client.metadata.userinfo_signed_response_alg === undefined && !encryptsFor(client, "userinfo");
  if (!isPlain) return { accessToken, response: { client, claims } };
  const response = new JsonResponse(claims, { text: JSON.stringify(claims) });
  // A token that is bound to a key or certificate requires proof for each request; no change names a membership that begins.
  const isRepeatable = accessToken.cnf === undefined && !lists;
  return { accessToken, response, ...(isRepeatable && { repeatableUntilMs: accessToken.expiresAtSeconds * 1000 }) };
}

function findPresented(request: ReceivedRequest): PresentedToken {
  return findAccessToken(request, readFormToken(request));
}

/**
 * The token of a form body (RFC 6750 §2.2). A body of any other type, or none, presents no token: only the header counts (§2.1), and a request
 * without it has no credentials (§3.1).
 */
function readFormToken(request: ReceivedRequest): string | undefined {
  if (request.method !== "POST") return undefined;
  try {
    return readForm(request).get("access_token");
  } catch (error) {
    if (!(error instanceof OAuthError) || error.status !== 400) throw error;
    if (error.reason === "body-media-type") return undefined;
    throw resourceError("Bearer", "invalid_request", error.reason, {
      detail: error.detail,
      description: error.description,
    });
  }
}

/** Requires a token that a user granted with the scope `openid`; other tokens have no user to describe. */
function requireUserToken(token: AccessToken, issuer: string, scheme: PresentationScheme): void {
  if (!token.scope.includes("openid")) {
    throw resourceError(scheme, "insufficient_scope", "scope-insufficient", { scope: "openid" });
  }
  if (!token.forUser) throw resourceError(scheme, "invalid_token", "access-token-without-user");
  // RFC 9068 §4: a resource server must not use a token that it received to read more claims here.
  if (!token.audiences.includes(issuer)) throw resourceError(scheme, "invalid_token", "access-token-audience");
}

/** The response for a client that registered a signed or encrypted one. */
interface JwtContent {
  readonly client: Client;
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * The claims as a JWT, signed and encrypted as the client registered (OIDC Core §5.3.2); a signed one contains `iss` and `aud`. It has no `typ`, so
 * that it cannot be mistaken for another token of this provider.
 */
async function respondJwt(
  context: RequestContext<UserinfoEnv>,
  isolate: UserinfoIsolate,
  { client, claims }: JwtContent,
): Promise<Response> {
  const { userinfo_signed_response_alg: registered } = client.metadata;
  const alg = registered && signatureFor(context.settings, client, registered, registered);
  const addressed = { iss: context.settings.issuer, aud: client.clientId, ...claims };
  const text =
    alg === undefined
      ? JSON.stringify(claims)
      : await isolate.keyRing.sign(context, { alg, typ: undefined, claims: addressed });
  const content = { text, isJwt: alg !== undefined };
  const jwt = await encryptForClient(context, isolate.clientKeys, client, "userinfo", content);
  return new Response(jwt, { headers: { ...noStore, "Content-Type": "application/jwt" } });
}
