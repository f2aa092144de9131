import type { LoginContext } from "../oauth/login-context.ts";
import type { GrantIdentity } from "../sharding/new-grant.ts";
import type { ShardAddress } from "../sharding/shard-address.ts";

/** **What a person authorized**, as an authorization code and a device code store it until they are redeemed. */
export interface AuthorizedGrant extends LoginContext {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  /** Whether redemption starts a refresh family (OIDC Core §11); decided with the authorization. */
  readonly refreshable: boolean;
  /** Where it starts: known before, so that it can be ended before it starts. */
  readonly familyAddress: ShardAddress;
  /** The longest lifetime of the tokens that redemption gives, so that their end is known before. */
  readonly tokenLifetimeSeconds: number;
}
