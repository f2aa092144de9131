/**
 * **The lifetime of a session and the recording of its use.** Pure. A session ends at its absolute end or after `idleMs` without use, whichever comes
 * first. Uses are recorded in steps, so that a busy session does not write on every request.
 */

export interface SessionTimes {
  readonly seenAtMs: number;
  readonly idleMs: number;
  readonly endsAtMs: number;
}

/** A session may end this fraction of its idle time early, because not every use is recorded. */
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
