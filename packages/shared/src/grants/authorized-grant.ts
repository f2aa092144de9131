import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import type { GrantIdentity } from "../leases/grant-identity.ts";
import type { ShardAddress } from "../storage/shard-address.ts";

/** **The content of an authorization**, as an authorization code and a device code store it until they are redeemed. */
export interface AuthorizedGrant extends LoginContext {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  /** Whether redemption starts a refresh family (OIDC Core §11); decided with the authorization. */
  readonly refreshable: boolean;
  /** The shard in which the family will start: known in advance, so that the family can be ended before it starts. */
  readonly familyAddress: ShardAddress;
  /** The longest lifetime of the tokens that redemption issues, so that their end is known in advance. */
  readonly tokenLifetimeSeconds: number;
}
