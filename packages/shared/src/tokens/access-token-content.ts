import type { RbacClaims } from "../directory/user.ts";
import type { AuthorizationDetails } from "../oauth/authorization-details.ts";
import type { Confirmation } from "../oauth/confirmation.ts";
import type { AuthenticationEvent } from "../oauth/login-context.ts";
import type { TokenId } from "../sharding/shard-address.ts";

/** **A verified access token**, as every endpoint sees it; access-token.ts reads and writes its wire format. */
export interface AccessToken extends AuthenticationEvent {
  readonly id: TokenId;
  readonly sub: string;
  readonly clientId: string;
  /** The client that the grant was given to; differs from `clientId` after an exchange. */
  readonly grantClientId: string;
  /** The clients that exchanged it on the way from the grant's to its own, oldest first. */
  readonly viaClientIds: readonly string[];
  /** `random` parts of the ids of the tokens it was exchanged from, oldest first; all are of the same grant. */
  readonly lineage: readonly string[];
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
  readonly scope: readonly string[];
  readonly issuedAtSeconds: number;
  readonly expiresAtSeconds: number;
  readonly act: ActorClaim | undefined;
  readonly mayAct: Readonly<Record<string, unknown>> | undefined;
  /** The key that its bearer must prove; such a token is never accepted as a bearer token. */
  readonly cnf: Confirmation | undefined;
  /** Limited to what the scope covers, as `username` is. */
  readonly rbac: RbacClaims | undefined;
  /** Whether `sub` is a user: client-credentials tokens have the client as their subject. */
  readonly forUser: boolean;
  readonly username: string | undefined;
  /** The `sub` that this client is shown instead (OIDC Core §8.1): the `sub` claim of the token. */
  readonly pairwiseSub: string | undefined;
  /** RFC 9396 §9.1. */
  readonly authorizationDetails: AuthorizationDetails | undefined;
  /** Claims requested individually at /authorize (OIDC Core §5.5). */
  readonly userinfoClaims: readonly string[] | undefined;
}

/** @see https://www.rfc-editor.org/rfc/rfc8693#section-4.1 */
export interface ActorClaim {
  readonly sub: string;
  readonly client_id?: string;
  readonly iss?: string;
  readonly act?: ActorClaim;
}
