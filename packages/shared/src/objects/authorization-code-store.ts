import type { TokenTargets } from "../directory/policy-list.ts";
import type { DetailsText } from "../oauth/authorization-details.ts";
import type { KeyConfirmation } from "../oauth/confirmation.ts";
import type { AuthorizedGrant } from "./authorized-grant.ts";
import type { DeviceCodesRpc } from "./device-codes.ts";
import type { FactsRpc } from "./facts-object.ts";
import type { GrantRevocation } from "./grant-revocation.ts";
import type { EventOrigin } from "./session-store.ts";

/** **The content of an authorization code**, stored as JSON until the code is swept (60 s unspent, a day spent). */
export interface AuthorizationCodePayload extends AuthorizedGrant {
  /** As given in the authorization request; compared byte for byte. */
  readonly redirectUri: string;
  /** S256 challenge (RFC 7636 §4.2); absent only for clients that may leave PKCE out. */
  readonly codeChallenge: string | undefined;
  readonly nonce: string | undefined;
}

/** The code expires a minute after its grant was created; two clocks differ by less than another. */
const redeemedWithinMs = 120_000;

/** When the tokens that a code gives, without refreshing, have expired. */
export function codeTokensEndAtMs(grantCreatedAtMs: number, tokenLifetimeSeconds: number): number {
  return grantCreatedAtMs + redeemedWithinMs + tokenLifetimeSeconds * 1000;
}

/** The values that a redemption presents. The client is authenticated before. */
export interface PresentedCode {
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  /** The key that the request proves. */
  readonly cnf: KeyConfirmation | undefined;
  /** The resources requested (RFC 8707 §2.2); `undefined`: all that were authorized. */
  readonly resources: readonly string[] | undefined;
  /** The authorization details requested (RFC 9396 §6); `undefined`: all that were authorized. */
  readonly authorizationDetails: DetailsText | undefined;
  /** The targets that the client is registered for at this moment. */
  readonly targets: TokenTargets;
}

export type RedeemResult =
  | { readonly kind: "redeemed"; readonly payload: AuthorizationCodePayload }
  /** Redeemed before: the caller revokes the grant before it responds; the object's alarm does so too, until a shard has acknowledged. */
  | { readonly kind: "replayed"; readonly revocation: GrantRevocation }
  /** The rules of these resources must be looked up first: nothing was changed. Empty: that of the client's default audience. */
  | { readonly kind: "unchecked_resources"; readonly resources: readonly string[]; readonly reason: string }
  /** Unknown, expired, or a mismatch of a bound value: nothing was changed. `reason` is for the log. */
  | { readonly kind: "invalid_grant" | "invalid_target" | "invalid_authorization_details"; readonly reason: string };

export interface RedeemRequest {
  readonly id: string;
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  /** S256 of the presented verifier. */
  readonly codeChallenge: string | undefined;
  readonly cnf: KeyConfirmation | undefined;
  readonly resources: readonly string[] | undefined;
  readonly authorizationDetails: DetailsText | undefined;
  readonly targets: TokenTargets;
  /** For the audit. */
  readonly origin: EventOrigin;
  /** The same for every attempt to send one redemption: repeating it after a lost result is not a replay. */
  readonly operationId: string;
}

/** The RPC methods of an `AuthorizationCodeStore` shard. */
export interface AuthorizationCodeStoreRpc extends FactsRpc, DeviceCodesRpc {
  /** Idempotent by id. `grantEndsAtMs`: when every token that the code can issue has expired. */
  put(id: string, payload: AuthorizationCodePayload, expiresAtMs: number, grantEndsAtMs: number): Promise<void>;
  redeem(request: RedeemRequest): Promise<RedeemResult>;
}
