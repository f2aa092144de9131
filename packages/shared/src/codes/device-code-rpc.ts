import { isNumber, objectOf } from "@edge-op/protocol/encoding/stored-json";
import type { DetailsText } from "@edge-op/protocol/oauth/authorization-details";
import type { KeyConfirmation } from "@edge-op/protocol/oauth/confirmation";
import type { EventOrigin } from "../audit/audit-event.ts";
import type { TokenTargets } from "../clients/token-targets.ts";
import { type AuthorizedGrant, authorizedGrantMembers } from "../grants/grant.ts";
import type { GrantRevocation } from "../grants/grant-revocation.ts";

export interface DeviceRequest {
  /** The random id in the device code. */
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
      /** When the tokens issued by the redemption itself have expired (ADR 16). */
      readonly tokensEndAtMs: number;
    }
  | { readonly kind: "deny" };

type Denial = Extract<DeviceDecision, { kind: "deny" }>;
type Approval = Extract<DeviceDecision, { kind: "approve" }>;

const isApproval = objectOf<Approval>({
  kind: (kind): kind is "approve" => kind === "approve",
  payload: objectOf<AuthorizedGrant>(authorizedGrantMembers),
  tokensEndAtMs: isNumber,
});
const isDenial = objectOf<Denial>({ kind: (kind): kind is "deny" => kind === "deny" });

export function isDeviceDecision(value: unknown): value is DeviceDecision {
  return isApproval(value) || isDenial(value);
}

export interface WaitingDevice {
  readonly clientId: string;
  readonly request: string;
  readonly expiresAtMs: number;
}

/** A code that this person has decided; a denial does not record the person. */
export interface DecidedDevice {
  readonly decided: DeviceDecision["kind"];
}

export interface DevicePoll {
  readonly id: string;
  readonly clientId: string;
  /** Identifies the poll, so that repeating it after a lost result does not count as two. */
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

/** The code may be redeemed or was redeemed: its grant and user can be checked before that. */
export interface ApprovedDevice extends Pick<AuthorizedGrant, "grant" | "sub"> {
  readonly kind: "approved";
}

export type DevicePollResult = ApprovedDevice | DeviceRefusal;

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
  /** Nothing was changed, because the rules of these resources must be looked up first. */
  | { readonly kind: "unchecked_resources"; readonly resources: readonly string[] }
  | DeviceRefusal;

/**
 * **The RPC interface to the device codes of an `AuthorizationCodeStore` shard** (RFC 8628). One row holds a device code and its user code, so that
 * one object decides the poll, the decision and the redemption. Times are epoch milliseconds.
 */
export interface DeviceCodesRpc {
  /** Returns false if a row has this user code; the caller then chooses another. Idempotent by id. */
  openDevice(request: DeviceRequest): Promise<boolean>;
  /** Returns `undefined` for a code that is unknown or expired, or that someone other than `decidedBy` (a `sub`) has decided. Does not write. */
  findDevice(userCode: string, decidedBy?: string): Promise<WaitingDevice | DecidedDevice | undefined>;
  /** Returns true if this decision stands, also if it is repeated. */
  decideDevice(userCode: string, decision: DeviceDecision): Promise<boolean>;
  /** Does not write: the interval between polls is kept in memory. */
  pollDevice(poll: DevicePoll): Promise<DevicePollResult>;
  redeemDevice(request: DeviceRedeemRequest): Promise<DeviceRedeemResult>;
}
