import { isText, objectOf } from "@edge-op/protocol/encoding/stored-json";
import type { EventOrigin } from "../audit/audit-event.ts";
import { longestTokenLifetimeSeconds } from "../config/settings.ts";
import { type AuthorizedGrant, authorizedGrantMembers } from "../grants/grant.ts";
import type { GrantRevocation } from "../grants/grant-revocation.ts";
import type { FactsRpc } from "../secrets/deployment-facts.ts";
import type { DeviceCodesRpc } from "./device-code-rpc.ts";

/** **The content of an authorization code**, sealed in its text (sealed-code.ts). */
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

/** A replay is detected for this long: until the longest access token that the code can have issued has expired. */
export const spentMemoryMs = longestTokenLifetimeSeconds * 1000;

/** Why a client that the code is bound to may not redeem it as it asks. `reason` is for the log. */
export type RedemptionRefusal =
  | {
      readonly kind: "invalid_request" | "invalid_grant" | "invalid_target" | "invalid_authorization_details";
      readonly reason: string;
    }
  /** The rules of these resources must be looked up first. Empty: the rule of the client's default audience. */
  | { readonly kind: "unchecked_resources"; readonly resources: readonly string[] };

/** The use of a code by a caller that presented everything that the code is bound to. */
export interface SpendRequest {
  /** The random id in the code. */
  readonly id: string;
  readonly expiresAtMs: number;
  /** The code is not spent because of it; a spent code is replayed all the same. */
  readonly refusal: RedemptionRefusal | undefined;
  /** The end of the code's grant, if the code has been spent before. */
  readonly revocation: GrantRevocation;
  /** For the audit. */
  readonly redeemed: Pick<AuthorizedGrant, "grant" | "clientId" | "sub" | "scope">;
  readonly origin: EventOrigin;
  /** The same for every attempt to send one redemption, so that repeating it after a lost result is not a replay. */
  readonly operationId: string;
  /** The grant is being checked at the same time: only what {@link AuthorizationCodeStoreRpc.takeBack} undoes is changed. */
  readonly isUnchecked: boolean;
}

export type SpendResult =
  | { readonly kind: "spent" }
  /**
   * Redeemed before: the caller revokes the grant before it responds, and so does the object's alarm until a shard has acknowledged the revocation.
   */
  | { readonly kind: "replayed"; readonly revocation: GrantRevocation }
  /** Redeemed before, which is not judged, and nothing was changed: the request has not been checked. */
  | { readonly kind: "unchecked_request" }
  /** Expired, or as the request says; nothing was changed. */
  | RedemptionRefusal;

/** The RPC methods of an `AuthorizationCodeStore` shard. */
export interface AuthorizationCodeStoreRpc extends FactsRpc, DeviceCodesRpc {
  spend(request: SpendRequest): Promise<SpendResult>;
  /** Undoes the spending by a request that was refused, or that no store could check. */
  takeBack(request: Pick<SpendRequest, "id" | "operationId" | "redeemed">): Promise<void>;
}
