/**
 * **When a session is alive, and when its use is worth a write: pure.** It ends at its absolute end or after `idleMs`
 * without use, whichever comes first. Use is recorded in steps, so that a busy session does not write on every request.
 */
export interface SessionTimes {
  readonly seenAtMs: number;
  readonly idleMs: number;
  readonly endsAtMs: number;
}

/** A session may end this fraction of its idle time early: the price of not writing every use. */
const recordedSteps = 32;

export function diesAtMs({ seenAtMs, idleMs, endsAtMs }: SessionTimes): number {
  return Math.min(endsAtMs, seenAtMs + idleMs);
}

export function isAlive(times: SessionTimes, nowMs: number): boolean {
  return nowMs < diesAtMs(times);
}

export function isUseWorthRecording({ seenAtMs, idleMs }: SessionTimes, nowMs: number): boolean {
  return nowMs - seenAtMs >= idleMs / recordedSteps;
}
