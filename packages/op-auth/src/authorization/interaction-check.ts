import type { Client } from "@edge-op/shared/directory/client";
import type { User } from "@edge-op/shared/directory/user";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { OAuthErrorCode } from "@edge-op/shared/oauth/errors";
import type { SessionUse } from "@edge-op/shared/objects/session-store";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthorizationRequest } from "./checks/authorization-request.ts";
import type { CompletedSteps, InteractionKind } from "./interaction.ts";

/** Who is signed in: a live session of an active user that no cut-off has ended. */
export interface SignedIn {
  readonly sessionId: string;
  readonly use: SessionUse;
  readonly user: User;
  /** The `sub` that this client is shown. */
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

/** What a person must do first, and what a client is told that asked for nobody to be disturbed. */
export interface Need {
  readonly kind: InteractionKind;
  readonly error: OAuthErrorCode;
}

/** **One reason to ask a person something.** `undefined` when there is none; a refusal when asking would not help. */
export type InteractionCheck = (input: InteractionCheckInput) => Need | undefined | Promise<Need | undefined>;
