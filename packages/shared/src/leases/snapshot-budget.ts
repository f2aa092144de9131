/**
 * **Paces the snapshots that a lease server sends**, in bytes: thousands of cold isolates at once must not keep it from renewals and
 * revocations. Those that have to wait are sent back with a delay, spread at random by the caller, and check exactly until then.
 * Pure. The first snapshot after a pause is always allowed, however large it is.
 */
export class SnapshotBudget {
  readonly #bytesPerSecond: number;
  /** When the bytes that were sent have been paid for. */
  #paidAtMs = Number.NEGATIVE_INFINITY;

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** 0: the snapshot may be sent now. Otherwise for how long at least it may not. */
  take(bytes: number, nowMs: number): number {
    const second = 1_000;
    // A clock that was set back must not stop snapshots.
    this.#paidAtMs = Math.min(this.#paidAtMs, nowMs + 2 * second + (bytes / this.#bytesPerSecond) * second);
    const debtMs = this.#paidAtMs - nowMs;
    if (debtMs > second) return Math.ceil(debtMs - second);
    this.#paidAtMs = Math.max(this.#paidAtMs, nowMs) + (bytes / this.#bytesPerSecond) * second;
    return 0;
  }
}
