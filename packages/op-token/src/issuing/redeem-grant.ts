import {
  type AuthorizationDetails,
  type DetailsText,
  formatDetails,
} from "@edge-op/protocol/oauth/authorization-details";
import type { KeyConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { OAuthError, type OAuthErrorCode, refusalOfObject } from "@edge-op/protocol/oauth/errors";
import { loginContext } from "@edge-op/protocol/oauth/login-context";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { TokenTargets } from "@edge-op/shared/clients/token-targets";
import type { AuthorizedGrant } from "@edge-op/shared/grants/authorized-grant";
import { revokeGrants } from "@edge-op/shared/grants/revoke-grants";
import type { GrantRevocation } from "@edge-op/shared/leases/grant-revocation";
import type { IssueRequest, TokenResponse } from "../grant-module.ts";
import { spendChecked, type Unchecked } from "./checked-targets.ts";
import { findActiveUser } from "./find-active-user.ts";
import { firstRefreshToken, tokensEndBySeconds } from "./first-refresh-token.ts";
import { planAccessToken, toFamilyAccessToken } from "./issue-access-token.ts";
import { issueLoginTokens, type LoginTokens } from "./issue-login-tokens.ts";
import { refuseRevokedGrant } from "./refuse-revoked-grant.ts";

/** The form of a request with an authorization code or a device code. */
interface PresentedGrant {
  readonly clientId: string;
  readonly cnf: KeyConfirmation | undefined;
  readonly resources: readonly string[] | undefined;
  readonly authorizationDetails: DetailsText | undefined;
  readonly targets: TokenTargets;
}

type Redemption<Payload> =
  | { readonly kind: "redeemed"; readonly payload: Payload }
  | { readonly kind: "replayed"; readonly revocation: GrantRevocation }
  | { readonly kind: OAuthErrorCode; readonly reason: string }
  | Unchecked;

/** How a code of one kind is redeemed. */
interface Redeemable<Payload> {
  redeem(presented: PresentedGrant): Promise<Redemption<Payload>>;
  readonly replayed: RefusalReason;
  /** The values that are bound to the first ID token. */
  bound?(payload: Payload): Pick<LoginTokens, "nonce" | "code">;
}

/**
 * **Redeems an authorization code or a device code**, and issues the tokens of its grant. Only the code names the user and the grant, so both are
 * checked after it is spent. `due`: the values that the request narrows.
 */
export async function redeemGrant<Payload extends AuthorizedGrant>(
  request: IssueRequest,
  due: { readonly resources: readonly string[] | undefined; readonly details: AuthorizationDetails | undefined },
  { redeem, replayed, bound }: Redeemable<Payload>,
): Promise<TokenResponse> {
  const { context, isolate, client, proof } = request;
  const { resources, details } = due;
  await prepareRedemption(request);
  const presented = {
    clientId: client.clientId,
    cnf: proof?.cnf,
    resources,
    authorizationDetails: formatDetails(details),
  };
  const { result, checked } = await spendChecked(request, resources, ({ targets }) =>
    redeem({ ...presented, targets }),
  );
  if (result.kind === "replayed") {
    // One of the two users of the code stole it: every token issued for it is revoked (RFC 6749 §4.1.2).
    await revokeGrants(context, isolate, [result.revocation]);
    throw new OAuthError("invalid_grant", replayed);
  }
  if (result.kind !== "redeemed") throw refusalOfObject(result);
  const { payload } = result;
  const { grant, scope } = payload;
  const [user] = await Promise.all([findActiveUser(request, payload.sub), refuseRevokedGrant(request, payload)]);
  // The check of the grant may have returned a newer control version.
  await request.commit();
  const notAfterSeconds = tokensEndBySeconds(request, payload);
  const lifetime = { lifetimeSeconds: checked.longestLifetimeSeconds, notAfterSeconds };
  const accessToken = toFamilyAccessToken(planAccessToken(request, grant, lifetime));
  const refreshToken = await firstRefreshToken(request, payload, accessToken);
  return issueLoginTokens(request, {
    grant,
    login: loginContext(payload),
    user,
    accessToken,
    scope,
    resources: resources ?? payload.resources,
    checked,
    requestedDetails: details,
    refreshToken,
    notAfterSeconds,
    ...bound?.(payload),
  });
}

/**
 * Call it before a code is redeemed: an isolate without a lease may have an outdated copy of the client, and its refusal would spend the code. It
 * also checks the proof, so that an identical retry of a request does not count as a second use of the code. Cost: 1 object call without a lease. In
 * `direct`, where no isolate has a lease, the check of the redeemed grant returns the version.
 */
async function prepareRedemption({ context, proof, validate }: IssueRequest): Promise<void> {
  if (context.settings.revocationMode === "direct") await proof?.spend();
  else await validate();
}
