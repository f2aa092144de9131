import { clientAddress } from "@edge-op/shared/http/client-address";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { type Lane, laneOf } from "@edge-op/shared/users/attempt-limits";
import type { RefusedSignIn } from "@edge-op/shared/users/session-rpc";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import { logRefusedSignIn } from "./log-refused-sign-in.ts";

/** Higher than for an account, because many people may share an address. */
const addressLanes = laneOf({ capacity: 50, drainMs: 3_000 });

export interface Bucket {
  readonly name: "account" | "address" | "browser" | "passkey";
  readonly subject: string;
  readonly lanes: readonly Lane[];
}

export interface ReservedAttempt {
  readonly kind: "reserved";
  /** Refunds the attempt. Called when the credential is correct. */
  release(): Promise<void>;
  /** Writes a log line and an audit event. Called when the credential is wrong. */
  recordFailure(reason: string): Promise<void>;
}

export interface RefusedAttempt {
  readonly kind: "refused";
  readonly retryAfterSeconds: number;
}

/** The bucket of the caller's address; empty if the deployment does not know addresses. */
export function addressBuckets(context: RequestContext<AuthEnv>, request: ReceivedRequest, prefix: string): Bucket[] {
  const address = clientAddress(context, request);
  return address === undefined ? [] : [{ name: "address", subject: `${prefix} ${address}`, lanes: addressLanes }];
}

/**
 * **Limits the rate of sign-in attempts without locking an account**: an attempt is counted in each bucket before its credential is
 * verified, and the count is refunded if the credential is correct. Buckets drain with time.
 * Cost: 1 object call per bucket; 1 more for a wrong attempt.
 */
export async function reserveAttempt(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  buckets: readonly Bucket[],
  who: Omit<RefusedSignIn, "reason">,
): Promise<ReservedAttempt | RefusedAttempt> {
  const results = await Promise.all(
    buckets.map(async ({ name, subject, lanes }) => {
      const throttled = { ...who, reason: `too many attempts: ${name}` };
      const result = await isolate.sessions.reserveAttempt(context, subject, lanes, throttled);
      if (result.kind === "refused") logRefusedSignIn(context, "sign-in-throttled", throttled);
      return { subject, result };
    }),
  );
  const waits = results.map(({ result }) => (result.kind === "refused" ? result.retryAfterMs : 0));
  const retryAfterMs = Math.max(0, ...waits);
  if (retryAfterMs > 0) return { kind: "refused", retryAfterSeconds: Math.ceil(retryAfterMs / 1000) };
  const release = async () => {
    await Promise.all(
      results.map(async ({ subject, result }) => {
        if (result.kind === "allowed") await isolate.sessions.refundAttempt(context, subject, result.lane);
      }),
    );
  };
  const recordFailure = async (reason: string) => {
    const failed = { ...who, reason };
    logRefusedSignIn(context, "sign-in-failed", failed);
    await Promise.all(buckets.map(({ subject }) => isolate.sessions.recordFailedSignIn(context, subject, failed)));
  };
  return { kind: "reserved", release, recordFailure };
}
