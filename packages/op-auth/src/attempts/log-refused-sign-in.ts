import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import type { RefusedSignIn } from "@edge-op/shared/sessions/session-rpc";

/** **Logs a refused sign-in** by its account, if there is one. The name that was typed is not logged: it may be a password. */
export function logRefusedSignIn(
  { requestId }: RequestContext<unknown>,
  event: "sign-in-failed" | "sign-in-throttled",
  { method, sub, reason }: RefusedSignIn,
): void {
  log(event, { method, sub, reason, requestId });
}
