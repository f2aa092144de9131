import { isText, objectOf } from "@edge-op/protocol/encoding/stored-json";
import type { DetailsText } from "@edge-op/protocol/oauth/authorization-details";
import type { KeyConfirmation } from "@edge-op/protocol/oauth/confirmation";
import type { EventOrigin } from "../audit/event-origin.ts";
import type { TokenTargets } from "../clients/token-targets.ts";
import type { FactsRpc } from "../config/deployment-facts.ts";
import type { GrantRevocation } from "../leases/grant-revocation.ts";
import { type AuthorizedGrant, authorizedGrantMembers } from "./authorized-grant.ts";
import type { DeviceCodesRpc } from "./device-code-rpc.ts";

/** **The content of an authorization code**, stored as JSON until the code is swept (60 s unspent, a day spent). */
export interface AuthorizationCodePayload extends AuthorizedGrant {
  /** As given in the authorization request; compared byte for byte. */
  readonly redirectUri: string;
  /** S256 challenge (RFC 7636 §4.2); absent only for clients that may omit PKCE. */
  readonly codeChallenge: string | undefined;
  readonly nonce: string | undefined;
}

export const isAuthorizationCodePayload = objectOf<AuthorizationCodePayload>({
  ...authorizedGrantMembers,
  redirectUri: isText,
});

/** The code expires a minute after its grant was created; two clocks differ by less than another minute. */
const redeemedWithinMs = 120_000;

/** When the tokens issued for a code, refreshed ones excluded, have expired. */
export function codeTokensEndAtMs(grantCreatedAtMs: number, tokenLifetimeSeconds: number): number {
  return grantCreatedAtMs + redeemedWithinMs + tokenLifetimeSeconds * 1000;
}

/** The values that a redemption presents. The client has already been authenticated. */
export interface PresentedCode {
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  /** The key that the request proves. */
  readonly cnf: KeyConfirmation | undefined;
  /** The requested resources (RFC 8707 §2.2); `undefined` requests all that were authorized. */
  readonly resources: readonly string[] | undefined;
  /** The requested authorization details (RFC 9396 §6); `undefined` requests all that were authorized. */
  readonly authorizationDetails: DetailsText | undefined;
  /** The targets of the client's current registration. */
  readonly targets: TokenTargets;
}

export type RedeemResult =
  | { readonly kind: "redeemed"; readonly payload: AuthorizationCodePayload }
  /**
   * Redeemed before: the caller revokes the grant before it responds, and so does the object's alarm until a shard has acknowledged the revocation.
   */
  | { readonly kind: "replayed"; readonly revocation: GrantRevocation }
  /** Nothing was changed, because the rules of these resources must be looked up first. Empty: the rule of the client's default audience. */
  | { readonly kind: "unchecked_resources"; readonly resources: readonly string[]; readonly reason: string }
  /** Unknown, expired, or a bound value does not match; nothing was changed. `reason` is for the log. */
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
  /** The origin of the request, for the audit. */
  readonly origin: EventOrigin;
  /** The same for every attempt to send one redemption, so that repeating it after a lost result is not a replay. */
  readonly operationId: string;
}

/** The RPC methods of an `AuthorizationCodeStore` shard. */
export interface AuthorizationCodeStoreRpc extends FactsRpc, DeviceCodesRpc {
  /** Idempotent by id. At `grantEndsAtMs`, every token that the code can issue has expired. */
  put(id: string, payload: AuthorizationCodePayload, expiresAtMs: number, grantEndsAtMs: number): Promise<void>;
  redeem(request: RedeemRequest): Promise<RedeemResult>;
}
