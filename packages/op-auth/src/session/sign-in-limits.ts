import { clientAddress } from "@edge-op/shared/http/client-address";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import { type Lane, laneOf } from "@edge-op/shared/sessions/attempts";
import type { AttemptResult, RefusedSignIn } from "@edge-op/shared/sessions/session-rpc";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";

/** Higher than for an account, because many people may share an address. */
const addressLanes = laneOf({ capacity: 50, drainMs: 3_000 });

export interface Bucket {
  readonly name: "account" | "address" | "browser" | "passkey";
  readonly subject: string;
  readonly lanes: readonly Lane[];
}

/** The account that was named, if it exists. Known only after the attempt was counted. */
type Named = Pick<RefusedSignIn, "sub">;

/** An attempt that is counted. */
export interface ReservedAttempt {
  /** `undefined`: the attempt may be made. */
  readonly retryAfterSeconds: number | undefined;
  /** Refunds the attempt. Called when the credential is correct. */
  release(): Promise<void>;
  /** Writes a log line and an audit event. Called when there were too many attempts. */
  recordThrottled(named: Named): Promise<void>;
  /** The same, when the credential is wrong. */
  recordFailure(named: Named, reason: string): Promise<void>;
}

/** The bucket of the caller's address; empty if the deployment does not know addresses. */
export function addressBuckets(context: RequestContext<AuthEnv>, request: ReceivedRequest, prefix: string): Bucket[] {
  const address = clientAddress(context, request);
  return address === undefined ? [] : [{ name: "address", subject: `${prefix} ${address}`, lanes: addressLanes }];
}

/**
 * **Limits the rate of sign-in attempts without locking an account**: an attempt is counted in each bucket before its credential is
 * verified, and the count is refunded if the credential is correct. An attempt that its address refuses counts nowhere else, so that an address with
 * no attempts left cannot use up those of an account. Buckets drain with time.
 * Cost: 1 object call per bucket, in parallel; 1 more for a wrong or a refused attempt.
 */
export async function reserveAttempt(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  buckets: readonly Bucket[],
  method: RefusedSignIn["method"],
): Promise<ReservedAttempt> {
  const { attempts } = isolate;
  const results = await Promise.all(
    buckets.map(async ({ name, subject, lanes }) => {
      return { name, subject, result: await attempts.reserve(context, subject, lanes) };
    }),
  );
  const refund = (of: readonly (typeof results)[number][]) =>
    Promise.all(of.map(({ subject, result }) => refundAllowed(context, isolate, subject, result)));
  const refused = results.filter(({ result }) => result.kind === "refused");
  if (refused.some(({ name }) => name === "address")) context.waitUntil(refund(results));
  const waits = refused.map(({ result }) => (result.kind === "refused" ? result.retryAfterMs : 0));
  return {
    retryAfterSeconds: refused.length === 0 ? undefined : Math.ceil(Math.max(...waits) / 1000),
    release: async () => {
      await refund(results);
    },
    recordThrottled: async ({ sub }) => {
      const record = ({ name, subject }: (typeof results)[number]) => {
        const throttled = { method, sub, reason: `too many attempts: ${name}` };
        logRefusedSignIn(context, "sign-in-throttled", throttled);
        return attempts.recordThrottled(context, subject, throttled);
      };
      await Promise.all(refused.map(record));
    },
    recordFailure: async ({ sub }, reason) => {
      const failed = { method, sub, reason };
      logRefusedSignIn(context, "sign-in-failed", failed);
      const [most] = buckets.toReversed();
      if (most !== undefined) await attempts.recordFailed(context, most.subject, failed);
    },
  };
}

async function refundAllowed(
  context: RequestContext<AuthEnv>,
  { attempts }: AuthIsolate,
  subject: string,
  result: AttemptResult,
): Promise<void> {
  if (result.kind === "allowed") await attempts.refund(context, subject, result.lane);
}

/** **Logs a refused sign-in** by its account, if there is one. The name that was typed is not logged: it may be a password. */
export function logRefusedSignIn(
  { requestId }: RequestContext<unknown>,
  event: "sign-in-failed" | "sign-in-throttled",
  { method, sub, reason }: RefusedSignIn,
): void {
  log(event, { method, sub, reason, requestId });
}
