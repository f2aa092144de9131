import { type AuthorizationDetails, narrowDetails, readDetails } from "@edge-op/protocol/oauth/authorization-details";
import { coveredClaims } from "@edge-op/protocol/oauth/claims";
import { authenticationEvent, type LoginContext } from "@edge-op/protocol/oauth/login-context";
import { intersectScope } from "@edge-op/protocol/oauth/scope";
import { registeredScope } from "@edge-op/shared/clients/client";
import { encryptForClient } from "@edge-op/shared/clients/encrypt-for-client";
import { sectorSessionId } from "@edge-op/shared/clients/pairwise-subject";
import type { FamilyAccessToken } from "@edge-op/shared/refresh/refresh-family-rpc";
import { signIdToken } from "@edge-op/shared/tokens/id-token";
import type { CommittedRequest, TokenResponse } from "../grant-module.ts";
import { allowedScope, among, type CheckedTargets } from "./checked-targets.ts";
import type { ActiveUser } from "./find-active-user.ts";
import { idTokenClaims, requestedMappings } from "./id-token-claims.ts";
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
    nonce,
    code,
    accessToken,
    userClaims,
    notAfterSeconds,
  });
  return encryptForClient(context, isolate.clientKeys, client, "id_token", { text, isJwt: true });
}
