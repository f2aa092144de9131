import type { TokenTargets } from "../directory/policy-list.ts";
import type { ClaimsRequest } from "../oauth/claims-request.ts";
import type { GrantIdentity } from "../sharding/new-grant.ts";
import type { GrantRevocation } from "./grant-revocation.ts";

/** **What an authorization code stands for.** The object keeps it until the code is redeemed. */
export interface AuthorizationCodePayload {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  /** As given in the authorization request; compared byte for byte. */
  readonly redirectUri: string;
  /** S256 challenge (RFC 7636 §4.2); absent only for clients that may leave PKCE out. */
  readonly codeChallenge: string | undefined;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  readonly nonce: string | undefined;
  readonly sub: string;
  /** What `sub` this client is shown instead (OIDC Core §8.1). */
  readonly pairwiseSub: string | undefined;
  readonly sid: string | undefined;
  readonly authTimeSeconds: number | undefined;
  readonly acr: string | undefined;
  readonly amr: readonly string[] | undefined;
  readonly claims: ClaimsRequest | undefined;
  /** Whether the exchange also starts a refresh family: `offline_access` as OIDC Core §11 says, decided at /authorize. */
  readonly refreshable: boolean;
}

/** What a redemption presents. The client is authenticated before. */
export interface PresentedCode {
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  /** Narrowed resources asked for (RFC 8707 §2.2); `undefined` = all that were authorized. */
  readonly resources: readonly string[] | undefined;
  /** What the client's tokens may be for, as it is registered at this moment. */
  readonly targets: TokenTargets;
}

export type RedeemResult =
  | { readonly kind: "redeemed"; readonly payload: AuthorizationCodePayload }
  /** Used before: the caller revokes the grant before it answers; the object does so too, until a shard has acknowledged. */
  | { readonly kind: "replayed"; readonly revocation: GrantRevocation }
  /** Unknown, expired, or not what the code is bound to: nothing was changed. `reason` is for the log. */
  | { readonly kind: "invalid_grant" | "invalid_target"; readonly reason: string };

export interface RedeemRequest {
  readonly id: string;
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  /** S256 of the presented verifier. */
  readonly codeChallenge: string | undefined;
  readonly resources: readonly string[] | undefined;
  /** Absent in requests of Workers of an earlier release. */
  readonly targets?: TokenTargets;
  /** One redemption, however often its call is sent: a lost reply is not a replay. */
  readonly operationId: string;
}

/** What an `AuthorizationCodeStore` shard answers over RPC. */
export interface AuthorizationCodeStoreRpc extends Rpc.DurableObjectBranded {
  /** Idempotent by id. `grantEndsAtMs`: when all that the code can issue has expired. */
  put(id: string, payload: AuthorizationCodePayload, expiresAtMs: number, grantEndsAtMs: number): Promise<void>;
  redeem(request: RedeemRequest): Promise<RedeemResult>;
}
