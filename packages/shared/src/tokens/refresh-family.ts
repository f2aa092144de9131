import type { ShardAddress } from "../sharding/shard-address.ts";

/**
 * **What a `RefreshTokenRotator` shard answers over RPC** (protocols.md §3). The MAC of the token is checked by the caller
 * before (no I/O); the shard decides by version. Times are epoch milliseconds unless named seconds.
 */
export interface RefreshFamily {
  readonly familyId: string;
  readonly grantId: string;
  readonly grantCreatedAtMs: number;
  readonly clientId: string;
  readonly sub: string;
  /** `jkt` or `x5t#S256` binding; absent for bearer. */
  readonly cnf: string | undefined;
  readonly scope: readonly string[];
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
  readonly expiresAtMs: number;
  /** Session of the login, for `sid` and logout; absent without one. */
  readonly sid: string | undefined;
  /** Of the login, for ID tokens issued at refresh (OIDC Core §12.2). */
  readonly authTimeSeconds: number | undefined;
  readonly acr: string | undefined;
  readonly amr: readonly string[] | undefined;
  readonly nonce: string | undefined;
}

/** The access token that belongs to a version of the family: fixed at rotation, so a retry gets the same one. */
export interface FamilyAccessToken {
  readonly jti: string;
  readonly iatSeconds: number;
  readonly expSeconds: number;
}

export interface RotateRequest {
  readonly familyId: string;
  readonly version: number;
  readonly clientId: string;
  readonly cnf: string | undefined;
  /** Narrowed scope and resources asked for; `undefined` = all of the family's. */
  readonly scope: readonly string[] | undefined;
  readonly resources: readonly string[] | undefined;
  /** What the successor's access token will be, if this use makes it. */
  readonly accessToken: FamilyAccessToken;
  readonly graceMs: number;
  readonly maxReplays: number;
  /** Address of the newest generation when it is not this one: the family hops there. */
  readonly hopTo: ShardAddress | undefined;
}

export type RotateOutcome =
  | {
      readonly kind: "rotated" | "replayed";
      readonly version: number;
      readonly family: RefreshFamily;
      readonly scope: readonly string[];
      readonly resources: readonly string[];
      readonly accessToken: FamilyAccessToken;
    }
  /** The family lives elsewhere now (or is to be adopted there): ask `to`, with `adopt` if given. */
  | { readonly kind: "moved"; readonly to: ShardAddress; readonly adopt: AdoptRequest | undefined }
  | { readonly kind: "invalid_grant"; readonly reason: string; readonly theft: { readonly grantId: string; readonly revokeUntilMs: number } | undefined }
  | { readonly kind: "invalid_scope" | "invalid_target"; readonly reason: string };

/** Everything the new shard needs to serve a family that hopped, idempotent by `(familyId, version, operationId)`. */
export interface AdoptRequest {
  readonly family: RefreshFamily;
  readonly version: number;
  readonly operationId: string;
}

export type FamilyState =
  | { readonly kind: "live"; readonly version: number; readonly family: RefreshFamily }
  | { readonly kind: "moved"; readonly to: ShardAddress }
  | { readonly kind: "dead" };

export interface RefreshTokenRotatorRpc extends Rpc.DurableObjectBranded {
  /** Idempotent by family id. Version 0 is the first token's. */
  create(family: RefreshFamily, accessToken: FamilyAccessToken): Promise<{ readonly version: number }>;
  /** One outcome each, in order; one transaction and one durable commit for all. */
  rotate(requests: readonly RotateRequest[]): Promise<readonly RotateOutcome[]>;
  /** For introspection: is `version` the one that may be used next (or retried)? No write. */
  inspect(familyId: string): Promise<FamilyState>;
  /** Kills a family (revocation, logout). Idempotent; the caller revokes `g:<grantId>` on the revocation shard. */
  kill(familyId: string, reason: string): Promise<FamilyState>;
}
