import type { TokenTargets } from "../directory/policy-list.ts";
import type { DetailsText } from "../oauth/authorization-details.ts";
import type { KeyConfirmation } from "../oauth/confirmation.ts";
import type { AuthorizedGrant } from "./authorized-grant.ts";
import type { GrantRevocation } from "./grant-revocation.ts";
import type { EventOrigin } from "./session-store.ts";

/**
 * **The RPC interface to the device codes of an `AuthorizationCodeStore` shard** (RFC 8628). One row holds a device code and its user
 * code, so that the poll, the decision and the redemption are decided in one object. Times are epoch milliseconds.
 */
export interface DeviceRequest {
  /** Random id in the device code. */
  readonly id: string;
  readonly userCode: string;
  readonly clientId: string;
  /** The checked request and what the person is shown of it: JSON that op-auth writes and reads. */
  readonly request: string;
  readonly intervalMs: number;
  readonly expiresAtMs: number;
}

export type DeviceDecision =
  | {
      readonly kind: "approve";
      readonly payload: AuthorizedGrant;
      /** When no token of the grant can be alive, and when those that the redemption itself gives have expired (ADR 38). */
      readonly grantEndsAtMs: number;
      readonly tokensEndAtMs: number;
    }
  | { readonly kind: "deny" };

export interface WaitingDevice {
  readonly clientId: string;
  readonly request: string;
  readonly expiresAtMs: number;
}

/** A code that this person has decided; a denial is not recorded with its person. */
export interface DecidedDevice {
  readonly decided: DeviceDecision["kind"];
}

export interface DevicePoll {
  readonly id: string;
  readonly clientId: string;
  /** A poll that is sent again after a lost result does not count as two. */
  readonly operationId: string;
}

export type DevicePollError =
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token"
  | "invalid_grant"
  | "invalid_target"
  | "invalid_authorization_details";

/** `reason` is for the log. */
export interface DeviceRefusal {
  readonly kind: DevicePollError;
  readonly reason: string;
}

/** `approved`: the code may be redeemed, or was. */
export type DevicePollResult = { readonly kind: "approved" } | DeviceRefusal;

export interface DeviceRedeemRequest extends DevicePoll {
  /** The key that the request proves. */
  readonly cnf: KeyConfirmation | undefined;
  readonly resources: readonly string[] | undefined;
  readonly authorizationDetails: DetailsText | undefined;
  readonly targets: TokenTargets;
  readonly origin: EventOrigin;
}

export type DeviceRedeemResult =
  | { readonly kind: "redeemed"; readonly payload: AuthorizedGrant }
  /** Redeemed before: the caller revokes the grant before it responds, and so does the object's alarm. */
  | { readonly kind: "replayed"; readonly revocation: GrantRevocation }
  /** The rules of these resources must be looked up first: nothing was changed. */
  | { readonly kind: "unchecked_resources"; readonly resources: readonly string[] }
  | DeviceRefusal;

export interface DeviceCodesRpc {
  /** False if a row has this user code; the caller chooses another. Idempotent by id. */
  openDevice(request: DeviceRequest): Promise<boolean>;
  /** `undefined` for a code that is unknown or expired, or that was decided by others than `decidedBy` (a `sub`). No write. */
  findDevice(userCode: string, decidedBy?: string): Promise<WaitingDevice | DecidedDevice | undefined>;
  /** True if this decision stands, also when the same one is sent again. */
  decideDevice(userCode: string, decision: DeviceDecision): Promise<boolean>;
  /** No write: the interval between polls is kept in memory. */
  pollDevice(poll: DevicePoll): Promise<DevicePollResult>;
  redeemDevice(request: DeviceRedeemRequest): Promise<DeviceRedeemResult>;
}
