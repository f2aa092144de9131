import type { TokenTargets } from "../directory/policy-list.ts";
import type { KeyConfirmation } from "../oauth/confirmation.ts";
import type { LoginContext } from "../oauth/login-context.ts";
import type { GrantIdentity } from "../sharding/new-grant.ts";
import type { ShardAddress } from "../sharding/shard-address.ts";
import type { GrantRevocation } from "./grant-revocation.ts";

/**
 * **What a `RefreshTokenRotator` shard answers over RPC** (docs/reference/protocols.md §3). A family is one grant's, and named by its id.
 * The caller has checked the token's MAC before (no I/O); the shard decides by version. Times are epoch milliseconds
 * unless named seconds.
 */
export interface RefreshFamily extends LoginContext {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  readonly expiresAtMs: number;
}

/** The access token that belongs to a version of the family: fixed at rotation, so a retry gets the same one. */
export interface FamilyAccessToken {
  readonly jti: string;
  readonly iatSeconds: number;
  readonly expSeconds: number;
}

/** What the newest version was issued with, and by which request. */
export interface Successor {
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  readonly accessToken: FamilyAccessToken;
  /** The shard that issued it: part of the refresh token's text, which must stay the same after the family has moved. */
  readonly address: ShardAddress;
  readonly operationId: string;
}

export type FamilyStatus = "live" | "reused" | "killed";

/** A family as it stands; also what one generation hands to the next. */
export interface FamilySnapshot {
  readonly family: RefreshFamily;
  /** The version that may be used next; 0 is the first token's. */
  readonly version: number;
  readonly rotatedAtMs: number;
  readonly replays: number;
  readonly status: FamilyStatus;
  readonly successor: Successor;
}

export interface RotateRequest {
  readonly grantId: string;
  readonly version: number;
  readonly clientId: string;
  /** The key that the request proves. */
  readonly cnf: KeyConfirmation | undefined;
  /** Narrowed scope and resources asked for; `undefined` = all of the family's. */
  readonly scope: readonly string[] | undefined;
  readonly resources: readonly string[] | undefined;
  /** What the client's tokens may be for, as it is registered at this moment; absent in requests of Workers of an earlier release. */
  readonly targets?: TokenTargets;
  /** What the successor's access token will be, if this use makes it. */
  readonly accessToken: FamilyAccessToken;
  /** The shard that is asked. */
  readonly address: ShardAddress;
  /** The same request may be sent again, and is no replay, however strict the grace. */
  readonly operationId: string;
  readonly graceMs: number;
  readonly maxReplays: number;
  /** Address in the newest generation when that is not this shard's: the family is to move there before it rotates. */
  readonly hopTo: ShardAddress | undefined;
  /** The family as its former shard left it: taken over if this shard does not know it yet. */
  readonly handover: FamilySnapshot | undefined;
}

export type RotateResult =
  | {
      readonly kind: "rotated" | "replayed";
      readonly version: number;
      readonly family: RefreshFamily;
      readonly successor: Successor;
    }
  /** The family lives at `to`: ask there, with `handover`. */
  | { readonly kind: "moved"; readonly to: ShardAddress; readonly handover: FamilySnapshot }
  /** `theft`: the caller revokes the grant before it answers, until a shard has acknowledged that. */
  | { readonly kind: "invalid_grant"; readonly reason: string; readonly theft: GrantRevocation | undefined }
  | { readonly kind: "invalid_scope" | "invalid_target"; readonly reason: string };

export type FamilyState =
  | { readonly kind: "found"; readonly snapshot: FamilySnapshot }
  | { readonly kind: "moved"; readonly to: ShardAddress; readonly handover: FamilySnapshot }
  | { readonly kind: "unknown" };

export interface RefreshTokenRotatorRpc extends Rpc.DurableObjectBranded {
  /** Idempotent by grant id. Version 0 is the first token's. */
  create(family: RefreshFamily, successor: Successor): Promise<void>;
  /** One result each, in order; one transaction and one durable commit for all. */
  rotate(requests: readonly RotateRequest[]): Promise<readonly RotateResult[]>;
  /** The family as it stands. No write. */
  inspect(grantId: string): Promise<FamilyState>;
  /**
   * Ends a family (revocation, logout). Idempotent; the caller revokes `g:<grantId>` on the revocation shard. A family that
   * moved is followed with its `handover`, so that it is dead also where it has not arrived yet.
   */
  kill(grantId: string, reason: string, handover: FamilySnapshot | undefined): Promise<FamilyState>;
}
