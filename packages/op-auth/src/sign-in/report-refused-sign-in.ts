import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { RefusedSignIn } from "@edge-op/shared/objects/session-store";

/** **Logs a sign-in that did not succeed**, by its account if there is one: what was typed may be a password. */
export function logRefusedSignIn(
  { requestId }: RequestContext<unknown>,
  event: "sign-in-failed" | "sign-in-throttled",
  { method, sub, reason }: RefusedSignIn,
): void {
  console.info(JSON.stringify({ event, method, sub, reason, requestId }));
}
