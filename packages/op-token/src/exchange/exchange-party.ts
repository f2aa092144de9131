import type { AuthenticationEvent } from "@edge-op/protocol/oauth/login-context";
import type { TokenId } from "@edge-op/shared/storage/shard-address";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import type { AcceptedToken } from "../external/accept-token.ts";

/** **A subject or actor token of an exchange, verified**: what the exchange knows of it, whichever issuer it is of. */
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
  /** Absent for a token of a trusted issuer: what it is exchanged for is a new grant. */
  readonly id?: TokenId | undefined;
  /** The token is of a trusted issuer: the rule that accepts it also limits what is issued. */
  readonly external?: AcceptedToken;
};

/** A token as it is presented. */
export interface PresentedToken {
  readonly token: string;
  readonly type: string;
  readonly use: "subject_token" | "actor_token";
}
