import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import { ExpiredInteractionError } from "./interaction.ts";

/** How long a `request_uri` may be opened: a redirect on a slow network, and reloads of the page it leads to. */
export const pushedRequestSeconds = 90;
/** How long a person may take to complete an authorization that a pushed request began. */
export const completionMs = 60 * 60_000;

/**
 * **Spends a pushed request, right before a response is sent for it.** Opening it does not, so that a reload of `/authorize` works; of
 * any number of authorizations that it began, one is answered. Cost: 1 object call, 0 for a request that was not pushed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9126#section-4
 */
export async function spendPushedRequest(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  id: string | undefined,
): Promise<void> {
  if (id === undefined) return;
  if ((await isolate.challenges.take(context, "authorization-request", id)) !== undefined) return;
  throw new ExpiredInteractionError("invalid_request_uri", "request_uri used, or authorization took too long", {
    description: "The request was already answered, or was open for too long.",
  });
}
