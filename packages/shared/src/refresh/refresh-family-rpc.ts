import { isNumber, isText, listOf, objectOf } from "@edge-op/protocol/encoding/stored-json";
import type { DetailsText } from "@edge-op/protocol/oauth/authorization-details";
import type { KeyConfirmation } from "@edge-op/protocol/oauth/confirmation";
import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import type { TokenTargets } from "../clients/token-targets.ts";
import { refreshGraceLimits } from "../config/settings.ts";
import { type GrantIdentity, isGrantIdentity } from "../grants/grant.ts";
import { type GrantPlace, type GrantRevocation, isPackedPlace, type PackedPlace } from "../grants/grant-revocation.ts";
import type { FactsRpc } from "../secrets/deployment-facts.ts";
import { isShardAddress, type ShardAddress } from "../storage/shard-address.ts";

export interface RefreshFamily extends LoginContext {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  readonly expiresAtMs: number;
  /**
   * The method by which the family's first access token was bound; each refresh must prove possession of a key by this method. Absent for bearer
   * tokens.
   */
  readonly confirmedBy?: KeyConfirmation["method"] | undefined;
}

export const isRefreshFamily = objectOf<RefreshFamily>({
  sub: isText,
  grant: isGrantIdentity,
  clientId: isText,
  scope: listOf(isText),
  resources: listOf(isText),
  expiresAtMs: isNumber,
});

/** The access token that belongs to a version of the family: fixed at rotation, so a retry gets the same one. */
export interface FamilyAccessToken {
  readonly jti: string;
  readonly iatSeconds: number;
  readonly expSeconds: number;
}

/** The access token of the newest version, and the request that issued it. */
export interface Successor {
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  /** The details that the request named, a subset of the family's; absent: all of the family's. */
  readonly authorizationDetails?: DetailsText | undefined;
  readonly accessToken: FamilyAccessToken;
  /** The shard that issued the refresh token. It is part of the token's text, which must stay the same after the family has moved. */
  readonly address: ShardAddress;
  readonly operationId: string;
  /**
   * Where the access and ID tokens of the family are revoked, replays of this version included; at least one. The last use is among them even if it
   * was taken back.
   */
  readonly places: readonly GrantPlace[];
  /** The key that a public client proved at a refresh, if its family began without one. All later versions keep it. */
  readonly bound?: LaterBinding | undefined;
  /** The state before this successor, which was made while its request was being checked: the request can take it back. */
  readonly before?: StateBefore;
}

export interface StateBefore extends Pick<FamilySnapshot, "version" | "rotatedAtMs" | "replays"> {
  readonly successor: Omit<Successor, "before" | "places">;
}

/** As a row has it, with packed places: a row of more than a KB needs another page. */
export type StoredSuccessor = Omit<Successor, "places"> & { readonly places: readonly PackedPlace[] };

export const isStoredSuccessor = objectOf<StoredSuccessor>({
  scope: listOf(isText),
  resources: listOf(isText),
  accessToken: objectOf<FamilyAccessToken>({ jti: isText, iatSeconds: isNumber, expSeconds: isNumber }),
  address: isShardAddress,
  operationId: isText,
  places: listOf(isPackedPlace),
});

/** Refresh tokens from this version on are bound to the key (RFC 9449 §5, RFC 8705 §4). */
export interface LaterBinding {
  readonly cnf: KeyConfirmation;
  readonly fromVersion: number;
}

/** The key that the newest refresh token of a family is bound to. */
export function boundKey({ family, successor }: FamilySnapshot): KeyConfirmation | undefined {
  return family.cnf ?? successor.bound?.cnf;
}

export type FamilyStatus = "live" | "reused" | "killed";

/** The state of a family. One generation sends it to the next in this form. */
export interface FamilySnapshot {
  readonly family: RefreshFamily;
  /** The version that may be used next; the first token has version 0. */
  readonly version: number;
  readonly rotatedAtMs: number;
  readonly replays: number;
  readonly status: FamilyStatus;
  readonly successor: Successor;
}

/** A replay issues a new ID token at most this much later: the longest grace, plus the waiting time of a request. */
export const replayMarginMs = (refreshGraceLimits.protectedSeconds + 60) * 1000;

/** The use of a refresh token. */
export interface RefreshUse {
  readonly clientId: string;
  /** The key that the request proves. */
  readonly cnf: KeyConfirmation | undefined;
  /** The requested subset of scope and resources; `undefined` requests all of the family's. */
  readonly scope: readonly string[] | undefined;
  readonly resources: readonly string[] | undefined;
  /** The requested subset of the authorization details. */
  readonly authorizationDetails: DetailsText | undefined;
  /** The audiences that the client's current registration allows. */
  readonly targets: TokenTargets;
  /** The scope values that the client may have now, for any resource in `targets`. */
  readonly allowedScope: readonly string[];
  /** The access token of the successor, if this use creates it. */
  readonly accessToken: FamilyAccessToken;
  /** When the tokens issued by this use expire, replays included. */
  readonly tokensEndAtMs: number;
  /** The refresh token stays the same. */
  readonly keepsToken: boolean;
  /** The refresh token is issued to a public client: it is bound to `cnf`. */
  readonly bindsToken: boolean;
  /** Scope values that were not granted are left out instead of refused: no administrator registered the client. */
  readonly dropsScope: boolean;
  readonly graceMs: number;
  /** The request is being checked at the same time: only what {@link RefreshTokenRotatorRpc.takeBack} undoes is changed. */
  readonly isUnchecked?: boolean;
}

export interface RotateRequest extends RefreshUse {
  readonly grantId: string;
  readonly version: number;
  /** The shard that is called. */
  readonly address: ShardAddress;
  /** Identifies one request, so that sending it again is not a replay, however strict the grace is. */
  readonly operationId: string;
  readonly maxReplays: number;
  readonly hopTo: ShardAddress | undefined;
  /**
   * The family as its former shard left it or, before its first use, as the token of version 0 contains it: used if this shard does not know it yet,
   * and stored with what this use changes.
   */
  readonly handover: FamilySnapshot | undefined;
}

export interface Rotated {
  readonly kind: "rotated" | "replayed";
  readonly version: number;
  readonly family: RefreshFamily;
  readonly successor: Successor;
}

/** The family is at `to`: call that shard with `handover`. */
export interface MovedFamily {
  readonly kind: "moved";
  readonly to: ShardAddress;
  readonly handover: FamilySnapshot;
}

/** The rules of these resources must be looked up first: nothing was changed. Empty: that of the client's default audience. */
export interface UncheckedResources {
  readonly kind: "unchecked_resources";
  readonly resources: readonly string[];
  readonly reason: string;
}

/** Nothing was changed: the request has not been checked, and this use could not be taken back. */
export interface UncheckedRequest {
  readonly kind: "unchecked_request";
  readonly reason: string;
}

export type RotationRefusal =
  /** `theft`: the caller revokes the grant before it responds, until a shard has acknowledged that. */
  | { readonly kind: "invalid_grant"; readonly reason: string; readonly theft: GrantRevocation | undefined }
  | { readonly kind: "invalid_scope" | "invalid_target" | "invalid_authorization_details"; readonly reason: string };

export type RotateResult = Rotated | MovedFamily | UncheckedResources | UncheckedRequest | RotationRefusal;

export type TakenBack = { readonly kind: "done" } | MovedFamily;

export type FamilyState =
  | { readonly kind: "found"; readonly snapshot: FamilySnapshot }
  | MovedFamily
  | { readonly kind: "unknown" }
  /** The family has no row, and its tokens are refused. */
  | { readonly kind: "refused" };

/**
 * **The RPC interface of a `RefreshTokenRotator` shard** (docs/reference/protocols.md §3). A family belongs to one grant and has its id. The caller
 * has verified the token's MAC (no I/O); the shard decides by version. Times are epoch milliseconds unless the name contains seconds.
 */
export interface RefreshTokenRotatorRpc extends FactsRpc {
  /**
   * Stores a family that is too long for its first token. Every other one is stored at its first use. Idempotent by grant id. The family of a grant
   * that has ended begins as an ended one.
   */
  create(initial: FamilySnapshot): Promise<void>;
  /** Returns one result per request, in order; one transaction and one durable commit for all. */
  rotate(requests: readonly RotateRequest[]): Promise<readonly RotateResult[]>;
  /**
   * Undoes the rotation of an unchecked request that has been refused, or that no store could check, unless another request has got its successor.
   * The family is then as it was.
   */
  takeBack(grantId: string, operationId: string): Promise<TakenBack>;
  /** The state of the family. Does not write. */
  inspect(grantId: string): Promise<FamilyState>;
  /**
   * Ends a family (revocation, logout). Idempotent; the caller revokes `g:<grantId>` at every place of the family. A family that moved, or has not
   * been used, is ended with its `handover`, also in a shard that does not know it yet. A family of which nothing is known may begin at its first
   * use; until `untilMs`, when no token of it can be valid, it is "refused".
   */
  kill(grantId: string, reason: string, handover: FamilySnapshot | undefined, untilMs?: number): Promise<FamilyState>;
}
