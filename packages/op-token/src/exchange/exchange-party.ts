import type { AuthenticationEvent } from "@edge-op/protocol/oauth/login-context";
import type { TokenId } from "@edge-op/shared/storage/shard-address";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import type { AcceptedToken } from "../external/accept-token.ts";

/** **A verified subject or actor token of an exchange**: the members that the exchange uses, for any issuer. */
export type ExchangeParty = Pick<
  AccessToken,
  | "sub"
  | "clientId"
  | "grantClientId"
  | "viaClientIds"
  | "lineage"
  | "audiences"
  | "scope"
  | "authorizationDetails"
  | "expiresAtSeconds"
  | "act"
  | "mayAct"
  | "cnf"
  | "forUser"
  | keyof AuthenticationEvent
> & {
  /** The id of the token, if this provider issued it. */
  readonly id?: TokenId | undefined;
  /** Set for a token of a trusted issuer: the rule that accepts it also limits the issued token. */
  readonly external?: AcceptedToken;
};

/** A token as presented in the request. */
export interface PresentedToken {
  readonly token: string;
  readonly type: string;
  readonly use: "subject_token" | "actor_token";
}
