import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { identifyBrowser } from "../browser/cookies.ts";
import type { AuthIsolate } from "../isolate.ts";
import type { CodeRequest } from "./checks/authorization-request.ts";

/**
 * **The state of a sign-in and consent**: the checked request, the browser that sent it, and the completed steps. It is stored on the server
 * for 15 minutes. Each completed step spends it and stores the next one, so that a copy of a page cannot repeat a step.
 * Cost: 1 object call to store, to read and to spend.
 */
export interface Interaction {
  readonly purpose: InteractionPurpose;
  /** Hash of the browser's cookie. */
  readonly browserId: string;
  readonly steps: CompletedSteps;
}

export type InteractionPurpose =
  | {
      readonly kind: "authorize";
      readonly request: CodeRequest;
      /** The id of the pushed request, if there was one; the response spends it. */
      readonly pushedId?: string | undefined;
    }
  /** A sign-in to a page of this provider, by a method that reaches one of the `acr` values if the page requires it. */
  | { readonly kind: "account"; readonly path: string; readonly requiredAcr?: readonly string[] | undefined };

export interface CompletedSteps {
  /** The sign-in made for this request: `signedInAtMs` of the session that it opened. */
  readonly signedInAtMs?: number;
  readonly accountSelected?: boolean;
  /** The person chose to sign in to another account. */
  readonly otherAccount?: boolean;
  /** `sub` of the person who consented. */
  readonly consentedBy?: string;
}

export type InteractionKind = "sign-in" | "select-account" | "consent";

const lifetimeMs = 15 * 60_000;

/** Stores an interaction and returns the path of its page. */
export async function beginInteraction(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  interaction: Interaction,
  kind: InteractionKind,
): Promise<string> {
  const id = await isolate.challenges.put(
    context,
    "interaction",
    JSON.stringify(interaction),
    context.arrivedAtMs + lifetimeMs,
  );
  return `/interaction/${id}/${kind}`;
}

/** Reads an interaction of this browser without spending it. */
export async function requireInteraction(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  id: string,
): Promise<Interaction> {
  const text = await isolate.challenges.peek(context, "interaction", id);
  const interaction = text === undefined ? undefined : (JSON.parse(text) as Interaction);
  // Another browser's interaction is refused: a link to it must not sign a person in to someone else's request.
  if (interaction === undefined || interaction.browserId !== (await identifyBrowser(context, request)).id) {
    throw expired("interaction-invalid");
  }
  return interaction;
}

/** Spends an interaction. Of two concurrent submissions, one continues. */
export async function spendInteraction(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  id: string,
): Promise<void> {
  if ((await isolate.challenges.take(context, "interaction", id)) === undefined) throw expired("interaction-spent");
}

/** Shown to the person and never sent to the client. */
export class ExpiredInteractionError extends OAuthError {}

function expired(reason: RefusalReason): OAuthError {
  return new ExpiredInteractionError("invalid_request", reason, {
    description: "The page has expired or was already used.",
  });
}
