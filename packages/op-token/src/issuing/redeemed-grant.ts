import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError, type OAuthErrorCode, refusalOfObject } from "@edge-op/protocol/oauth/errors";
import { loginContext } from "@edge-op/protocol/oauth/login-context";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { AuthorizedGrant } from "@edge-op/shared/grants/authorized-grant";
import { revokeGrants } from "@edge-op/shared/grants/revoke-grants";
import type { GrantRevocation } from "@edge-op/shared/leases/grant-revocation";
import type { ClientRequest, IssueRequest, TokenResponse } from "../grant-module.ts";
import type { Spent } from "./checked-targets.ts";
import { findActiveUser } from "./find-active-user.ts";
import { planAccessToken, toFamilyAccessToken } from "./issue-access-token.ts";
import { issueLoginTokens, type LoginTokens } from "./issue-login-tokens.ts";
import { refuseRevokedGrant } from "./refuse-revoked-grant.ts";
import { startFamily, tokensEndBySeconds } from "./start-family.ts";

/** **An authorization code or a device code after its redemption.** */
export interface RedeemedGrant<Payload extends AuthorizedGrant>
  extends Pick<LoginTokens, "resources" | "requestedDetails" | "checked"> {
  readonly payload: Payload;
}

type Redemption<Payload> =
  | { readonly kind: "redeemed"; readonly payload: Payload }
  | { readonly kind: "replayed"; readonly revocation: GrantRevocation }
  | { readonly kind: OAuthErrorCode; readonly reason: string };

/** What the request narrows. */
interface Requested {
  readonly resources: readonly string[] | undefined;
  readonly details: AuthorizationDetails | undefined;
}

/**
 * Before a code is redeemed: an isolate without a lease may know an outdated client, and its refusal would cost the code. The proof too, so
 * that a request that is sent again as it is does not count as a second use of the code. Cost: 1 object call without a lease. In `direct`,
 * where no isolate has one, the check of the redeemed grant alone brings the version.
 */
export async function prepareRedemption({ context, proof, validate }: IssueRequest): Promise<void> {
  if (context.settings.revocationMode === "direct") await proof?.spend();
  else await validate();
}

/** The grant of a redeemed code. One of the two users of a replayed code stole it: every token issued for it is revoked (RFC 6749 §4.1.2). */
export async function requireRedeemed<Payload extends AuthorizedGrant>(
  { context, isolate }: ClientRequest,
  { result, checked }: Spent<Redemption<Payload>>,
  { resources, details }: Requested,
  replayed: RefusalReason,
): Promise<RedeemedGrant<Payload>> {
  if (result.kind === "redeemed") {
    const { payload } = result;
    return { payload, resources: resources ?? payload.resources, requestedDetails: details, checked };
  }
  if (result.kind !== "replayed") throw refusalOfObject(result);
  await revokeGrants(context, isolate, [result.revocation]);
  throw new OAuthError("invalid_grant", replayed);
}

/** Only the code names the user and the grant, so both are checked after it is spent. */
export async function issueForRedeemed(
  request: IssueRequest,
  { payload, ...requested }: RedeemedGrant<AuthorizedGrant>,
  bound: Pick<LoginTokens, "nonce" | "code"> = {},
): Promise<TokenResponse> {
  const { grant, sub, scope } = payload;
  const [user] = await Promise.all([findActiveUser(request, sub), refuseRevokedGrant(request, payload)]);
  // The check of the grant may have brought a newer control version.
  await request.commit();
  const login = loginContext(payload);
  const notAfterSeconds = tokensEndBySeconds(request, payload);
  const lifetime = { lifetimeSeconds: requested.checked.longestLifetimeSeconds, notAfterSeconds };
  const accessToken = toFamilyAccessToken(planAccessToken(request, grant, lifetime));
  const refreshToken = await startFamily(request, payload, accessToken);
  const tokens = { grant, login, user, accessToken, scope, refreshToken, notAfterSeconds };
  return issueLoginTokens(request, { ...tokens, ...requested, ...bound });
}
