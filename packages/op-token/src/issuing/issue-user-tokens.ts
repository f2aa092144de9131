import { registeredScope } from "@edge-op/shared/directory/client";
import { sectorSessionId } from "@edge-op/shared/directory/pairwise-subject";
import type { RbacClaims } from "@edge-op/shared/directory/user";
import { coveredClaims } from "@edge-op/shared/oauth/claims-request";
import { formatScope, intersectScope } from "@edge-op/shared/oauth/scope";
import type { FamilyAccessToken, RefreshFamily } from "@edge-op/shared/objects/refresh-token-rotator";
import { randomBase64Url } from "@edge-op/shared/runtime/bytes";
import { toSeconds } from "@edge-op/shared/runtime/clock";
import type { GrantIdentity } from "@edge-op/shared/sharding/new-grant";
import { formatTokenId, parseTokenId } from "@edge-op/shared/sharding/shard-address";
import { signAccessToken } from "@edge-op/shared/tokens/access-token";
import { signIdToken } from "@edge-op/shared/tokens/id-token";
import type { GrantRequest, TokenResponse } from "../grant.ts";
import type { ActiveUser } from "./find-active-user.ts";
import { loginTarget } from "./requested-target.ts";

/**
 * **Issues what a login earns**: an access token that was decided on before the code or refresh token was spent, so that a
 * retry gets the same one, and an ID token when `openid` was granted. Cost: 1 signature, 1 more with ID token.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#TokenResponse
 */
export type Login = Pick<
  RefreshFamily,
  "grant" | "sub" | "pairwiseSub" | "sid" | "authTimeSeconds" | "acr" | "amr" | "claims"
>;

export interface UserTokens {
  readonly login: Login;
  readonly user: ActiveUser;
  readonly accessToken: FamilyAccessToken;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  /** Only the first ID token of a login repeats these (OIDC Core §12.2). */
  readonly nonce?: string | undefined;
  readonly code?: string;
  readonly refreshToken: string | undefined;
}

/** Decides on an access token: its id on the grant's shard, its times. */
export function planAccessToken(
  { context, client }: Pick<GrantRequest, "context" | "client">,
  { address, grantId }: GrantIdentity,
): FamilyAccessToken {
  const iatSeconds = toSeconds(context.arrivedAtMs);
  const lifetimeSeconds = client.metadata.access_token_lifetime ?? context.settings.accessTokenLifetimeSeconds;
  return {
    jti: formatTokenId({ address, grantId, random: randomBase64Url(12) }),
    iatSeconds,
    expSeconds: iatSeconds + lifetimeSeconds,
  };
}

export async function issueUserTokens(request: GrantRequest, tokens: UserTokens): Promise<TokenResponse> {
  const { context, client } = request;
  // What the client may ask for can have shrunk since the login.
  const scope = intersectScope(tokens.scope, registeredScope(client));
  const accessToken = await signLoginAccessToken(request, tokens, scope);
  const idToken = scope.includes("openid") ? await signLoginIdToken(request, tokens, accessToken) : undefined;
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: Math.max(0, tokens.accessToken.expSeconds - toSeconds(context.arrivedAtMs)),
    ...(scope.length === 0 ? {} : { scope: formatScope(scope) }),
    ...(tokens.refreshToken === undefined ? {} : { refresh_token: tokens.refreshToken }),
    ...(idToken === undefined ? {} : { id_token: idToken }),
  };
}

function signLoginAccessToken(
  { context, isolate, client }: GrantRequest,
  { login, user, accessToken, resources }: UserTokens,
  scope: readonly string[],
): Promise<string> {
  const { settings } = context;
  const target = loginTarget(resources, client, scope, settings.issuer);
  const id = parseTokenId(accessToken.jti);
  if (id === undefined) throw new Error(`not a token id: ${accessToken.jti}`);
  return signAccessToken(
    context,
    isolate,
    client.metadata.access_token_signed_response_alg ?? settings.accessTokenAlgorithm,
    {
      ...target,
      id,
      sub: login.sub,
      clientId: client.clientId,
      grantClientId: client.clientId,
      grantCreatedAtMs: login.grant.grantCreatedAtMs,
      scope,
      issuedAtSeconds: accessToken.iatSeconds,
      expiresAtSeconds: accessToken.expSeconds,
      forUser: true,
      rbac: user.rbac,
      username: user.username,
      pairwiseSub: login.pairwiseSub,
      authTimeSeconds: login.authTimeSeconds,
      acr: login.acr,
      amr: login.amr,
      userinfoClaims: coveredClaims(login.claims?.userinfo, registeredScope(client)),
    },
  );
}

async function signLoginIdToken(
  { context, isolate, client }: GrantRequest,
  { login, user, nonce, code }: UserTokens,
  accessToken: string,
): Promise<string> {
  const subject = login.pairwiseSub ?? login.sub;
  const { sid } = login;
  const [sectorSid, userClaims] = await Promise.all([
    sid === undefined ? undefined : sectorSessionId(context.env, { sid, sub: login.sub }, subject),
    requestedClaims({ context, isolate }, login, user.rbac, registeredScope(client)),
  ]);
  return signIdToken(context, isolate, {
    ...login,
    client,
    sub: subject,
    sid: sectorSid,
    nonce,
    code,
    accessToken,
    userClaims,
  });
}

/** Claims requested one by one for the ID token (OIDC Core §5.5), as far as the client's registration covers them today. */
async function requestedClaims(
  { context, isolate }: Pick<GrantRequest, "context" | "isolate">,
  { sub, claims }: Login,
  { roles, groups }: RbacClaims,
  registered: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const requested = coveredClaims(claims?.id_token, registered);
  if (requested.length === 0) return {};
  const user = await isolate.users.find(context, sub);
  const values = {
    ...user?.claims,
    ...(roles.length === 0 ? {} : { roles }),
    ...(groups.length === 0 ? {} : { groups }),
  };
  return Object.fromEntries(Object.entries(values).filter(([name]) => requested.includes(name)));
}
