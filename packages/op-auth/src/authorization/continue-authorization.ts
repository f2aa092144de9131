import { redirect } from "@edge-op/pages/respond-page";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { identifyBrowser } from "../browser/cookies.ts";
import type { AuthIsolate } from "../isolate.ts";
import { type Attempt, decideAuthorization } from "./decide-authorization.ts";
import { beginInteraction } from "./interaction.ts";
import { respondToClient } from "./respond-to-client.tsx";

/** **Carries out a decision**: sends the code to the client, or stores the request and redirects to the next interaction. */
export async function continueAuthorization(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  attempt: Attempt,
): Promise<Response> {
  const decision = await decideAuthorization(context, isolate, attempt);
  if (decision.kind === "code") {
    return respondToClient(context, isolate, request, attempt.client, attempt.request, { code: decision.code });
  }
  const browser = await identifyBrowser(context, request);
  const interaction = {
    purpose: { kind: "authorize", request: attempt.request, pushedId: attempt.pushedId },
    browserId: browser.id,
    steps: attempt.steps,
  } as const;
  await attempt.decision.commit();
  const location = await beginInteraction(context, isolate, interaction, decision.interaction);
  return redirect(location, [browser.setCookie]);
}
