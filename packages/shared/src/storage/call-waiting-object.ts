import { limits } from "../config/limits.ts";
import { callObject } from "./call-object.ts";

export interface WaitingCall<T> {
  call(): Promise<T>;
  /** A call to which the object responds at once, even while it waits. */
  probe(): Promise<unknown>;
  /** How long the object may wait before it responds. */
  readonly waitMs: number;
}

/**
 * **Calls an object that may wait before it responds**: a revocation shard waits for leases of up to 10 s. A hanging object is not waited for that
 * long, because callers of `/revoke` give up earlier: after `objectCallMs` it is probed, and if the probe fails the call has failed, 6.5 s after it
 * began. Cost: 1 object call, and 1 more after 5 s.
 */
export async function callWaitingObject<T>(store: string, { call, probe, waitMs }: WaitingCall<T>): Promise<T> {
  if (waitMs === 0) return callObject(store, call);
  const hung = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    callObject(store, probe, limits.probeMs).catch(hung.reject);
  }, limits.objectCallMs);
  try {
    return await Promise.race([callObject(store, call, limits.objectCallMs + waitMs), hung.promise]);
  } finally {
    clearTimeout(timer);
  }
}
