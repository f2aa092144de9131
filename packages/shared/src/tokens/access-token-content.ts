import type { AuthorizationDetails } from "@edge-op/protocol/oauth/authorization-details";
import type { Confirmation } from "@edge-op/protocol/oauth/confirmation";
import type { AuthenticationEvent } from "@edge-op/protocol/oauth/login-context";
import type { TokenId } from "../storage/shard-address.ts";
import type { RbacClaims } from "../users/user.ts";

/** **A verified access token**, as every endpoint sees it; access-token.ts reads and writes its wire format. */
export interface AccessToken extends AuthenticationEvent {
  readonly id: TokenId;
  readonly sub: string;
  readonly clientId: string;
  /** The client that the grant was issued to; differs from `clientId` after an exchange. */
  readonly grantClientId: string;
  /** The clients that exchanged it between the grant's client and its own, oldest first. */
  readonly viaClientIds: readonly string[];
  /** The `random` parts of the ids of the tokens it was exchanged from, oldest first; all belong to the same grant. */
  readonly lineage: readonly string[];
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
  readonly scope: readonly string[];
  readonly issuedAtSeconds: number;
  readonly expiresAtSeconds: number;
  readonly act: ActorClaim | undefined;
  readonly mayAct: Readonly<Record<string, unknown>> | undefined;
  /** The key that the token's bearer must prove; such a token is never accepted as a bearer token. */
  readonly cnf: Confirmation | undefined;
  /** Limited to what the scope covers, as `username` is. */
  readonly rbac: RbacClaims | undefined;
  /** Whether `sub` is a user; the subject of a client-credentials token is the client. */
  readonly forUser: boolean;
  readonly username: string | undefined;
  /** The `sub` that this client sees instead (OIDC Core §8.1): the `sub` claim of the token. */
  readonly pairwiseSub: string | undefined;
  /** `authorization_details` (RFC 9396 §9.1). */
  readonly authorizationDetails: AuthorizationDetails | undefined;
  /** Claims requested individually at /authorize (OIDC Core §5.5). */
  readonly userinfoClaims: readonly string[] | undefined;
  /** The claims to which an administrator mapped attributes of the user. */
  readonly mappedClaims: Readonly<Record<string, unknown>> | undefined;
}

/** @see https://www.rfc-editor.org/rfc/rfc8693#section-4.1 */
export interface ActorClaim {
  readonly sub: string;
  readonly client_id?: string;
  readonly iss?: string;
  readonly act?: ActorClaim;
}
