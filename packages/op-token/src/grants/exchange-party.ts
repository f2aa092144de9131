import type { AuthenticationEvent } from "@edge-op/shared/oauth/login-context";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import type { AcceptedToken } from "../external/accept-token.ts";

/** **A subject or actor token of an exchange, verified**: what the exchange knows of it, whichever issuer it is of. */
export type ExchangeParty = Pick<
  AccessToken,
  | "id"
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
  /** The token is of a trusted issuer: the rule that accepts it also limits what is issued. */
  readonly external?: AcceptedToken;
};

/** A token as it is presented. */
export interface PresentedToken {
  readonly token: string;
  readonly type: string;
  readonly use: "subject_token" | "actor_token";
}
