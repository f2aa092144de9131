import type { PendingChange } from "@edge-op/shared/leases/lease-holders";

/** **The changes that wait for holders of leases**, at a shard and at a relay. A wait is a duration on a timer: no clock is read. */
export class ConfirmationWaits {
  readonly #waiting = new Map<PendingChange, () => void>();

  /** Resolves when every holder has confirmed the change, at the latest after `leasesMs`, when their leases have ended. */
  wait(pending: PendingChange, leasesMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, leasesMs);
    this.#waiting.set(pending, () => {
      clearTimeout(timer);
      resolve();
    });
    return promise.finally(() => this.#waiting.delete(pending));
  }

  /** Ends the waits of changes that every holder has confirmed. */
  settle(changes: readonly PendingChange[]): void {
    for (const change of changes) this.#waiting.get(change)?.();
  }
}
