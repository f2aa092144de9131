import { hookDeadlineMs } from "@edge-op/shared/hooks/call-hook";
import { nowMs } from "@edge-op/shared/runtime/clock";

/** The newest refusals of the hook whose time is known. */
const remembered = 32;
const { legacyPassword: deadlineMs } = hookDeadlineMs;

export interface Verified {
  readonly isRefused: boolean;
  /** The hook was asked, and its time is in that of the verification. */
  readonly askedHook: boolean;
}

/**
 * **How long a refused password takes while `legacyPassword` is enabled** (ADR 71), so that the time does not tell about whom the hook is asked.
 * Refusals of the hook mostly take no longer than the slowest of the last ones, so every refusal waits for that. The next one of n + 1 is the slowest
 * with probability 1/(n + 1), whatever the hook's times are; it waits for the deadline, and so do that many of the other refusals, by lot. Without a
 * known refusal all wait for the deadline.
 */
export class RefusalTimes {
  #tookMs: readonly number[] = [];

  /** Verifies, and holds the result back if it is a refusal. */
  async hold<Result extends Verified>(verify: () => Promise<Result>): Promise<Result> {
    const startedAtMs = nowMs();
    const known = this.#tookMs;
    const slowestMs = Math.max(0, ...known);
    // Both begin here: the clock stands still while a hash is computed, so no rest can be computed after it.
    const [usual, longest] = [startTimer(Math.min(slowestMs, deadlineMs)), startTimer(deadlineMs)];
    try {
      const result = await verify();
      if (!result.isRefused) return result;
      // Two times of the same millisecond have an order by lot.
      const tookMs = Math.min(nowMs() - startedAtMs, deadlineMs) + Math.random();
      if (result.askedHook) this.#tookMs = [...this.#tookMs, tookMs].slice(-remembered);
      const isSlowest = result.askedHook ? tookMs > slowestMs : Math.random() * (known.length + 1) < 1;
      await (isSlowest ? longest : usual).passed;
      return result;
    } finally {
      usual.end();
      longest.end();
    }
  }
}

/** Holds a refusal back until this time has passed. */
export async function holdRefusal<Result extends Pick<Verified, "isRefused">>(
  leastMs: number,
  verify: () => Promise<Result>,
): Promise<Result> {
  if (leastMs === 0) return verify();
  const least = startTimer(leastMs);
  try {
    const result = await verify();
    if (result.isRefused) await least.passed;
    return result;
  } finally {
    least.end();
  }
}

function startTimer(ms: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.ceil(ms));
  return { passed: promise, end: () => clearTimeout(timer) };
}
