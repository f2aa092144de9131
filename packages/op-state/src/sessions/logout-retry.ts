/**
 * **The retry schedule of back-channel logout**: increasing delays, for a day. Pure.
 *
 * @see https://openid.net/specs/openid-connect-backchannel-1_0.html#BCResponse
 */

const delaysMs = [1_000, 5_000, 30_000, 120_000, 600_000, 3_600_000] as const;

const patienceMs = 24 * 3_600_000;

export function nextTryMs(triesBefore: number, nowMs: number): number {
  return nowMs + delaysMs[Math.min(triesBefore, delaysMs.length - 1)]!;
}

export function givesUpAtMs(createdAtMs: number): number {
  return createdAtMs + patienceMs;
}

/** 200 and 204 acknowledge the token. 400 means that the client cannot process it, and sending it again would not help. */
export function isDelivered(status: number): boolean {
  return (status >= 200 && status < 300) || status === 400;
}
