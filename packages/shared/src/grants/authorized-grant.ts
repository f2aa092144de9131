import { isFlag, isNumber, isText, listOf } from "@edge-op/protocol/encoding/stored-json";
import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import { isShardAddress, type ShardAddress } from "../storage/shard-address.ts";
import { type GrantIdentity, isGrantIdentity } from "./grant-identity.ts";

/** **The content of an authorization**: an authorization code contains it, and the row of a device code, until they are redeemed. */
export interface AuthorizedGrant extends LoginContext {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  /** Whether redemption starts a refresh family (OIDC Core §11); decided with the authorization. */
  readonly refreshable: boolean;
  /** When every token of the grant has expired, as fixed by the authorization: no refresh token lives longer, whatever is set later. */
  readonly grantEndsAtMs: number;
  /** The shard in which the family will start: known in advance, so that the family can be ended before it starts. */
  readonly familyAddress: ShardAddress;
  /** The longest lifetime of the tokens that redemption issues, so that their end is known in advance. */
  readonly tokenLifetimeSeconds: number;
}

export const authorizedGrantMembers = {
  sub: isText,
  grant: isGrantIdentity,
  clientId: isText,
  scope: listOf(isText),
  resources: listOf(isText),
  refreshable: isFlag,
  grantEndsAtMs: isNumber,
  familyAddress: isShardAddress,
  tokenLifetimeSeconds: isNumber,
};
