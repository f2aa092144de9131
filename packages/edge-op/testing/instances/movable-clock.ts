import { current } from "./instance.ts";

/** **The clock of an instance**, which replaces `runtime/clock.ts` of shared only in the bundle of instances. */
export function nowMs(): number {
  return Date.now() + (current.getStore()?.aheadMs ?? 0);
}
