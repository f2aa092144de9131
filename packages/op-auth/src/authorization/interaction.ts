import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { AuthEnv } from "../auth-env.ts";
import { identifyBrowser } from "../browser/cookies.ts";
import type { AuthIsolate } from "../isolate.ts";
import type { CodeRequest } from "./checks/authorization-request.ts";

/**
 * **What is remembered while a person signs in and consents**: the checked request, the browser it came from, and which steps are
 * done. It is kept on the server, lives 15 minutes, and is spent by the step it leads to, which stores the next: what was
 * done once cannot be done again from a copy of its page. Cost: 1 object call to store, to look, to spend.
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
      /** The pushed request that it came from, spent by its response. */
      readonly pushedId?: string | undefined;
    }
  /** Someone wants to see their account pages. */
  | { readonly kind: "account"; readonly path: string };

export interface CompletedSteps {
  /** The sign-in made for this request: `signedInAtMs` of the session that it opened. */
  readonly signedInAtMs?: number;
  readonly accountSelected?: boolean;
  /** They want to sign in as someone else than who is signed in. */
  readonly otherAccount?: boolean;
  /** Who consented to what was shown. */
  readonly consentedBy?: string;
}

export type InteractionKind = "sign-in" | "select-account" | "consent";

const lifetimeMs = 15 * 60_000;

/** Where the person goes to do it. */
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

/** Looks at an interaction of this browser without spending it. */
export async function requireInteraction(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  id: string,
): Promise<Interaction> {
  const text = await isolate.challenges.peek(context, "interaction", id);
  const interaction = text === undefined ? undefined : (JSON.parse(text) as Interaction);
  // Another browser's interaction is as good as none: a link to it must not sign anyone in to someone else's request.
  if (interaction === undefined || interaction.browserId !== (await identifyBrowser(context, request)).id) {
    throw expired("unknown, spent, expired, or another browser's");
  }
  return interaction;
}

/** Spends it: of two submissions one goes on. */
export async function spendInteraction(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  id: string,
): Promise<void> {
  if ((await isolate.challenges.take(context, "interaction", id)) === undefined) throw expired("spent meanwhile");
}

/** Never sent to the client: its page says to go back to the application and start again. */
export class ExpiredInteractionError extends OAuthError {}

function expired(detail: string): OAuthError {
  return new ExpiredInteractionError("invalid_request", `interaction: ${detail}`, {
    description: "The page has expired or was already used.",
  });
}
