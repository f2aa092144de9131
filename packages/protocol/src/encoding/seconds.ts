/** Whole seconds of a NumericDate (RFC 7519 §2), rounded down. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Tolerated skew of foreign clocks: for client assertions, request objects and proofs, never for our own tokens. */
export const foreignClockSkewSeconds = 30;

/** A NumericDate (RFC 7519 §2). */
export function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** How far a time claim is from this clock, in the words of an error description, so that its sender can correct its own clock. */
export function clockDifference(claim: string, time: number, now: number): string {
  const seconds = Math.ceil(Math.abs(time - now));
  return `${claim} is ${seconds} s ${time < now ? "behind" : "ahead of"} the provider's clock`;
}

/**
 * **The first time claim that contradicts this clock** by more than the tolerated skew: `exp` in the past, `nbf` or `iat` in the future (RFC 7519
 * §4.1). Every JWT that others have signed is judged by it. Malformed claims are the caller's to refuse.
 */
export function findClockFault({ exp, nbf, iat }: Readonly<Record<string, unknown>>, now: number): string | undefined {
  if (isTime(exp) && exp <= now - foreignClockSkewSeconds) return clockDifference("exp", exp, now);
  for (const [claim, time] of [["nbf", nbf] as const, ["iat", iat] as const]) {
    if (isTime(time) && time > now + foreignClockSkewSeconds) return clockDifference(claim, time, now);
  }
  return undefined;
}

/** The error description of a JWT that is not valid at this time; `undefined` without a fault. */
export function describeClockFault(jwt: string, fault: string | undefined): string | undefined {
  return fault && `The ${jwt} is not valid at this time: ${fault}.`;
}
