import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { loginContext } from "@edge-op/protocol/oauth/login-context";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { isPublicClient } from "@edge-op/shared/clients/client";
import { revokeGrants } from "@edge-op/shared/endings/endings";
import type { AuthorizedGrant } from "@edge-op/shared/grants/grant";
import type { GrantRevocation } from "@edge-op/shared/grants/grant-revocation";
import type { FamilyAccessToken } from "@edge-op/shared/refresh/refresh-family-rpc";
import type { ClientRequest, CommittedRequest, IssueRequest, TokenResponse } from "../grant-module.ts";
import type { CheckedTargets } from "./checked-targets.ts";
import type { ActiveUser } from "./find-active-user.ts";
import { planAccessToken, toFamilyAccessToken, tokensEndAtMs } from "./issue-access-token.ts";
import { issueLoginTokens, type LoginTokens } from "./issue-login-tokens.ts";

/** A redeemed code of either kind, and the values that its request narrows. */
interface RedeemedGrant extends Pick<LoginTokens, "nonce" | "code"> {
  readonly payload: AuthorizedGrant;
  readonly user: ActiveUser;
  readonly checked: CheckedTargets;
  readonly resources: readonly string[] | undefined;
  readonly details: AuthorizationDetails | undefined;
}

/** **Issues the tokens of a redeemed authorization code or device code.** Cost: that of the tokens. */
export async function issueGrant(
  request: CommittedRequest,
  { payload, user, checked, resources, details, ...bound }: RedeemedGrant,
): Promise<TokenResponse> {
  const { grant, scope } = payload;
  const notAfterSeconds = tokensEndBySeconds(request, payload);
  const lifetime = { lifetimeSeconds: checked.longestLifetimeSeconds, notAfterSeconds };
  const accessToken = toFamilyAccessToken(planAccessToken(request, grant, lifetime));
  const refreshToken = await firstRefreshToken(request, payload, accessToken);
  return issueLoginTokens(request, {
    login: loginContext(payload),
    user,
    accessToken,
    scope,
    resources: resources ?? payload.resources,
    checked,
    requestedDetails: details,
    refreshToken,
    notAfterSeconds,
    ...bound,
  });
}

/** One of the two users of the code stole it: every token issued for it is revoked before the refusal (RFC 6749 §4.1.2). */
export async function refuseReplay(
  { context, isolate }: IssueRequest,
  revocation: GrantRevocation,
  reason: RefusalReason,
): Promise<never> {
  await revokeGrants(context, isolate, [revocation]);
  throw new OAuthError("invalid_grant", reason);
}

/**
 * **The first refresh token of a redeemed code or device code**; `undefined` if the authorization or the client's registration allows none. It
 * contains its family, whose row is written when the token is used. The family keeps everything that was authorized; narrowing in this request only
 * applies to its access token. Cost: 0 calls; 1 object call for a family that is too long for a token.
 */
async function firstRefreshToken(
  request: CommittedRequest,
  payload: AuthorizedGrant,
  accessToken: FamilyAccessToken,
): Promise<string | undefined> {
  const { context, isolate, client, proof } = request;
  const { grant, clientId, scope, resources, refreshable, familyAddress, grantEndsAtMs } = payload;
  if (!refreshable || !client.metadata.grant_types.includes("refresh_token")) return undefined;
  const lifeMs = context.settings.refreshTokenLifetimeSeconds * 1000;
  // Whatever ends the grant remembers that until `grantEndsAtMs`.
  const expiresAtMs = Math.min(grant.grantCreatedAtMs + lifeMs, grantEndsAtMs);
  // RFC 9449 §5: a confidential client authenticates, so it may change its key, but not omit one.
  const cnf = isPublicClient(client) ? proof?.cnf : undefined;
  const confirmedBy = proof?.cnf.method;
  const family = { ...loginContext(payload), cnf, confirmedBy, grant, clientId, scope, resources, expiresAtMs };
  return isolate.refreshFamilies.create(context, family, tokensEndAtMs(request, accessToken), familyAddress);
}

/** The expiry that was fixed when the person decided; raising a setting later does not extend it. */
function tokensEndBySeconds({ context }: ClientRequest, { tokenLifetimeSeconds }: AuthorizedGrant): number {
  return toSeconds(context.arrivedAtMs) + tokenLifetimeSeconds;
}
