import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import { ShownError } from "../pages/serve-page.tsx";

/** The lifetime of a `request_uri`: enough for a redirect on a slow network and reloads of the page. */
export const pushedRequestSeconds = 90;
/** The time in which a person must complete an authorization that was pushed. */
export const completionMs = 60 * 60_000;

/**
 * **Spends a pushed request directly before its response is sent.** Opening it does not spend it, so that a reload of `/authorize` works. At most one
 * of the authorizations started from a pushed request is completed. Cost: 1 object call, 0 if the request was not pushed.
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
  throw new ShownError("invalid_request_uri", "pushed-request-spent", {
    description: "The request was already completed or has expired.",
  });
}
