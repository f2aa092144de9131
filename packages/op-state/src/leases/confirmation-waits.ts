import { nextWaitMs, type PendingChange } from "./lease-holders.ts";

/**
 * **The changes that wait for holders of leases**, at a shard and at a relay. A wait consists of durations on timers: no clock is read, so setting a
 * clock does not shorten it.
 */
export class ConfirmationWaits {
  readonly #waiting = new Map<PendingChange, () => void>();

  /**
   * Resolves when every holder has confirmed the change or its lease has ended. `startedAtMs` by this server's clock: when the change
   * began to wait.
   */
  wait(pending: PendingChange, startedAtMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    let reachedMs = startedAtMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const waitMs = nextWaitMs(pending, reachedMs);
      if (waitMs === 0) return resolve();
      reachedMs += waitMs;
      timer = setTimeout(look, waitMs);
    };
    this.#waiting.set(pending, () => {
      if (timer !== undefined) clearTimeout(timer);
      resolve();
    });
    look();
    return promise.finally(() => this.#waiting.delete(pending));
  }

  /** Ends the waits of changes that every holder has confirmed. */
  settle(changes: readonly PendingChange[]): void {
    for (const change of changes) this.#waiting.get(change)?.();
  }
}
