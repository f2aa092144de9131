import { callHook, type HooksBindings, isHookEnabled, type SignUpEvent } from "@edge-op/shared/hooks/call-hook";
import type { RequestContext } from "@edge-op/shared/http/request-context";

/**
 * **Tells the hook `afterSignUp` of an account that is stored**, in the background: nobody waits for it, and it changes nothing. At most once: what it does not
 * accept, or what a request that dies has not sent, is not repeated. Cost: 0 unless it is enabled; then 1 RPC.
 */
export function announceSignUp(context: RequestContext<HooksBindings>, event: SignUpEvent): void {
  if (!isHookEnabled(context, "afterSignUp")) return;
  context.waitUntil(callHook(context, "afterSignUp", event, () => undefined));
}
