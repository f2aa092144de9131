import type { OAuthErrorCode } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { SessionUse } from "@edge-op/shared/users/session-rpc";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthorizationRequest } from "./checks/authorization-request.ts";
import type { CompletedSteps, InteractionKind } from "./interaction.ts";

/** The signed-in person: a session of an active user that no cut-off has ended. */
export interface SignedIn {
  readonly sessionId: string;
  readonly use: SessionUse;
  readonly user: User;
  /** The person's `sub` for this client. */
  readonly subject: string;
}

export interface InteractionCheckInput {
  readonly context: RequestContext<AuthEnv>;
  readonly client: Client;
  readonly request: AuthorizationRequest;
  /** Where the response will be sent; `undefined` for a flow without a redirect. */
  readonly redirectUri: string | undefined;
  readonly steps: CompletedSteps;
  readonly signedIn: SignedIn | undefined;
}

/** The interaction that is needed, and the error for `prompt=none`. */
export interface Need {
  readonly kind: InteractionKind;
  readonly error: OAuthErrorCode;
}

/** **Checks whether one kind of interaction is needed.** Throws a refusal if the interaction could not satisfy the request. */
export type InteractionCheck = (input: InteractionCheckInput) => Need | undefined | Promise<Need | undefined>;
