import type { Browser } from "@edge-op/pages/cookies";
import { laneOf } from "@edge-op/shared/sessions/attempts";
import { isKnownBrowser, type WayIn } from "../../../attempts/known-browser.ts";
import { logRefusedSignIn } from "../../../attempts/log-refused-sign-in.ts";
import { addressBuckets, type Bucket, reserveAttempt } from "../../../attempts/sign-in-limits.ts";
import type { FlowRequest } from "../../step.ts";

const passkeyLanes = laneOf({ capacity: 10, drainMs: 30_000 });

export interface PasskeyAttempt {
  /** `undefined`: the attempt may be made. */
  readonly retryAfterSeconds: number | undefined;
  release(): Promise<void>;
  recordThrottled(): Promise<void>;
  /** Logs a wrong attempt, with an audit event if the passkey exists. Returns the seconds to wait after too many of them. */
  countWrong(sub: string | undefined, reason: string): Promise<number | undefined>;
}

export function passkeyWayIn(credentialId: string): WayIn {
  return `passkey\n${credentialId}`;
}

/**
 * **Reserves an attempt by passkey while the passkey is read**, in buckets separate from those of passwords: the bucket of the browser if it
 * has used this passkey before, else that of the address. The bucket of the credential counts only wrong attempts, after verification:
 * a stranger who knows the id could fill it, and a valid signature is not refused for that. Ids that do not exist have such a bucket
 * too, so that throttling does not reveal which exist.
 * Cost: 1 object call, 0 if neither browser nor address is known; 1 more for a wrong or a refused attempt.
 */
export async function reservePasskeyAttempt(
  { context, isolate, request }: FlowRequest,
  browser: Browser,
  credentialId: string | undefined,
): Promise<PasskeyAttempt> {
  const wayIn = passkeyWayIn(credentialId ?? "");
  const isKnown = await isKnownBrowser(context, request, browser, wayIn);
  const own: Bucket = { name: "browser", subject: `known ${browser.id} ${wayIn}`, lanes: passkeyLanes };
  const buckets = isKnown ? [own] : addressBuckets(context, request, "passkey address");
  const attempt = await reserveAttempt(context, isolate, buckets, "passkey");
  const countWrong = async (sub: string | undefined, reason: string) => {
    const failed = { method: "passkey", sub, reason } as const;
    logRefusedSignIn(context, "sign-in-failed", failed);
    const wrong: Bucket = { name: "passkey", subject: `wrong ${wayIn}`, lanes: passkeyLanes };
    const isCounted = !isKnown && credentialId !== undefined;
    const counted = isCounted ? await reserveAttempt(context, isolate, [wrong], "passkey") : undefined;
    if (counted?.retryAfterSeconds !== undefined) {
      await counted.recordThrottled({ sub });
      return counted.retryAfterSeconds;
    }
    // Anyone can send any number of unknown ids, so those are only logged.
    if (sub !== undefined) await isolate.attempts.recordFailed(context, wrong.subject, failed);
    return undefined;
  };
  const { retryAfterSeconds, release } = attempt;
  return { retryAfterSeconds, release, recordThrottled: () => attempt.recordThrottled({ sub: undefined }), countWrong };
}
