import { current } from "./instance.ts";

/** **The clock of an instance**, which replaces `runtime/clock.ts` of shared in the bundle of instances alone. */
export function nowMs(): number {
  return Date.now() + (current.getStore()?.aheadMs ?? 0);
}
