import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { type AuthorizationDetails, narrowDetails, readDetails } from "@edge-op/protocol/oauth/authorization-details";
import { type ClaimRequests, coveredClaims } from "@edge-op/protocol/oauth/claims";
import { authenticationEvent, type LoginContext } from "@edge-op/protocol/oauth/login-context";
import { intersectScope } from "@edge-op/protocol/oauth/scope";
import { type Client, registeredScope } from "@edge-op/shared/clients/client";
import { encryptForClient } from "@edge-op/shared/clients/encrypt-for-client";
import { sectorSessionId } from "@edge-op/shared/clients/pairwise-subject";
import type { FamilyAccessToken } from "@edge-op/shared/refresh/refresh-family-rpc";
import { signIdToken } from "@edge-op/shared/tokens/id-token";
import { coveredMappings, mappedClaims } from "@edge-op/shared/users/attributes";
import { selectClaims, visibleClaims } from "@edge-op/shared/users/user";
import type { ClientRequest, CommittedRequest, TokenResponse } from "../grant-module.ts";
import { allowedScope, among, type CheckedTargets } from "./checked-targets.ts";
import type { ActiveUser } from "./find-active-user.ts";
import {
  fromFamilyAccessToken,
  issueAccessToken,
  type PlannedAccessToken,
  withLifetime,
} from "./issue-access-token.ts";
import { loginTarget } from "./requested-target.ts";

export interface LoginTokens {
  readonly login: LoginContext;
  readonly user: ActiveUser;
  /** Planned before the code or refresh token was spent, so that a retry gets the same access token. */
  readonly accessToken: FamilyAccessToken;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  readonly checked: CheckedTargets;
  /** The details that this request asks for, which narrow the granted ones. */
  readonly requestedDetails: AuthorizationDetails | undefined;
  /** `nonce` and `code` are bound to the first ID token of a login only (OIDC Core §12.2). */
  readonly nonce?: string | undefined;
  readonly code?: string;
  readonly refreshToken: string | undefined;
  /** The latest expiry of the ID token. */
  readonly notAfterSeconds?: number;
}

/**
 * **Issues the tokens of a login**, for a redeemed code and for a refresh: an access token, and an ID token if `openid` was granted. The scope is
 * limited to the scope that the client may have now. Cost: 1 signature, 1 more with an ID token.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#TokenResponse
 */
export async function issueLoginTokens(request: CommittedRequest, tokens: LoginTokens): Promise<TokenResponse> {
  const { client } = request;
  const { login, user, refreshToken, checked } = tokens;
  const registered = registeredScope(client);
  const scope = intersectScope(tokens.scope, allowedScope(client, among(checked.found, tokens.resources)));
  const target = loginTarget(tokens.resources, client, checked.targets, scope);
  const described = among(checked.found, target.audiences);
  const content = {
    ...withLifetime(request, fromFamilyAccessToken(tokens.accessToken), described),
    ...target,
    ...authenticationEvent(login),
    sub: login.sub,
    pairwiseSub: login.pairwiseSub,
    orgId: login.orgId,
    scope,
    forUser: true,
    rbac: user.rbac,
    username: user.username,
    attributes: user.attributes,
    authorizationDetails: narrowDetails(
      readDetails(login.authorizationDetails),
      tokens.requestedDetails,
      client.metadata.authorization_details_types,
    ),
    userinfoClaims: [
      ...coveredClaims(login.claims?.userinfo, registered),
      ...requestedMappings(login.claims?.userinfo, client, user),
    ],
  };
  const response = await issueAccessToken(request, content, described);
  const idToken = scope.includes("openid")
    ? await signLoginIdToken(request, { ...tokens, scope }, content.id, response.access_token)
    : undefined;
  return {
    ...response,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(idToken === undefined ? {} : { id_token: idToken }),
  };
}

async function signLoginIdToken(
  request: CommittedRequest,
  { login, user, scope, nonce, code, notAfterSeconds }: LoginTokens,
  grant: PlannedAccessToken["id"],
  accessToken: string,
): Promise<string> {
  const { context, isolate, client } = request;
  const sub = login.pairwiseSub ?? login.sub;
  const { sid } = login;
  const [sectorSid, userClaims] = await Promise.all([
    sid === undefined ? undefined : sectorSessionId(context.env, { sid, sub: login.sub }, sub),
    idTokenClaims(request, login, user, scope),
  ]);
  const text = await signIdToken(context, isolate, {
    ...authenticationEvent(login),
    grant,
    client,
    sub,
    sid: sectorSid,
    orgId: login.orgId,
    nonce,
    code,
    accessToken,
    userClaims,
    notAfterSeconds,
  });
  return encryptForClient(context, isolate.clientKeys, client, "id_token", { text, isJwt: true });
}

/** Applications keep ID tokens in cookies and send them back as hints, which may be 16 KiB long here. */
const mostScopeClaimBytes = 4096;

/**
 * **The claims of the user in an ID token**: those that were requested individually for it (OIDC Core §5.5) and, unless the client registered
 * `id_token_claims: requested`, those of the token's scope (ADR 18). Of the latter, the largest are left out where they make more than 4 KiB;
 * UserInfo has them all. Cost warm: 0 calls.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims
 */
async function idTokenClaims(
  { context, isolate, client }: ClientRequest,
  { sub, claims }: LoginContext,
  { rbac, attributes }: ActiveUser,
  scope: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const requested = coveredClaims(claims?.id_token, registeredScope(client));
  const releasing = client.metadata.id_token_claims === "requested" ? [] : scope;
  const requestedMapped = requestedMappings(claims?.id_token, client, { attributes });
  const { clientId } = client;
  const mapped = mappedClaims(attributes, "id_token", { clientId, scope: releasing, requested: requestedMapped });
  const visible = visibleClaims(releasing, requested);
  const user = visible.size === 0 ? undefined : await isolate.users.find(context, sub);
  const ofProfile = user === undefined ? {} : selectClaims(user, rbac, visible);
  return withoutLargest({ ...mapped, ...ofProfile }, [...requested, ...requestedMapped]);
}

/** The claims among the requested ones that attributes of the user are mapped to, and that the client's registered scope covers. */
function requestedMappings(
  requests: ClaimRequests | undefined,
  client: Client,
  { attributes }: Pick<ActiveUser, "attributes">,
): readonly string[] {
  if (requests === undefined || attributes.length === 0) return [];
  const { clientId } = client;
  return coveredMappings(Object.keys(requests), attributes, { clientId, registeredScope: registeredScope(client) });
}

function withoutLargest(
  claims: Readonly<Record<string, unknown>>,
  requested: readonly string[],
): Readonly<Record<string, unknown>> {
  const sized = Object.entries(claims)
    .filter(([name]) => !requested.includes(name))
    .map(([name, value]) => ({ name, bytes: encodeUtf8(JSON.stringify({ [name]: value })).length }));
  const omitted = new Set<string>();
  let bytes = sized.reduce((sum, each) => sum + each.bytes, 0);
  for (const each of sized.toSorted((one, other) => other.bytes - one.bytes)) {
    if (bytes <= mostScopeClaimBytes) break;
    bytes -= each.bytes;
    omitted.add(each.name);
  }
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !omitted.has(name)));
}
