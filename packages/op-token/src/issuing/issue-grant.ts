import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { loginContext } from "@edge-op/protocol/oauth/login-context";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { revokeGrants } from "@edge-op/shared/endings/endings";
import type { AuthorizedGrant } from "@edge-op/shared/grants/grant";
import type { GrantRevocation } from "@edge-op/shared/grants/grant-revocation";
import type { CommittedRequest, IssueRequest, TokenResponse } from "../grant-module.ts";
import type { CheckedTargets } from "./checked-targets.ts";
import type { ActiveUser } from "./find-active-user.ts";
import { firstRefreshToken, tokensEndBySeconds } from "./first-refresh-token.ts";
import { planAccessToken, toFamilyAccessToken } from "./issue-access-token.ts";
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
