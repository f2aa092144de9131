import { clientAddress } from "@edge-op/shared/http/client-address";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AttemptLimit } from "@edge-op/shared/objects/session-store";
import type { AuthEnv } from "../auth-env.ts";
import type { Browser } from "../browser/cookies.ts";
import type { AuthIsolate } from "../isolate.ts";
import { isKnownBrowser, passkeyWayIn, passwordWayIn } from "./known-browser.ts";

/** About 3,000 guesses a day at one account; its owner waits half a minute at most, and not on a browser they know. */
const accountLimit: AttemptLimit = { capacity: 10, drainMs: 30_000 };
/** Many people may share an address. */
const addressLimit: AttemptLimit = { capacity: 50, drainMs: 3_000 };

interface Bucket {
  readonly subject: string;
  readonly limit: AttemptLimit;
}

interface Reserved {
  readonly kind: "reserved";
  /** Gives the attempt back: it was right. */
  release(): Promise<void>;
}

interface Refused {
  readonly kind: "refused";
  readonly retryAfterSeconds: number;
}

/**
 * **Slows guessing without locking anyone out**: a bucket for the account and one for the address, reserved before a password is
 * looked at and given back when it was right. A browser that signed in to the account before has a bucket of its own, so that a
 * stranger who fills the account's cannot keep its owner away. Cost: 2 object calls, in parallel.
 */
export async function reservePasswordAttempt(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  browser: Browser,
  username: string,
): Promise<Reserved | Refused> {
  const wayIn = passwordWayIn(username);
  const isKnown = await isKnownBrowser(context, request, browser, wayIn);
  const address = clientAddress(context, request);
  return reserveAll(context, isolate, [
    { subject: isKnown ? `known ${browser.id} ${wayIn}` : `account ${wayIn}`, limit: accountLimit },
    ...(address === undefined ? [] : [{ subject: `address ${address}`, limit: addressLimit }]),
  ]);
}

export interface PasskeyAttempt extends Reserved {
  /** It was wrong: seconds to wait, once there have been too many. */
  countWrong(): Promise<number | undefined>;
}

/**
 * **The same for passkeys**, in buckets of their own: who fills the ones for passwords leaves passkeys as a way in. Before anything
 * is looked up, the address's, or the browser's own where it has used this passkey before. The credential's counts wrong
 * ones alone, after the fact: a stranger who has seen its id could fill it, and its owner's signature is not refused for that. It is
 * the same for ids that do not exist, or it would tell which do.
 * Cost: 1 object call, 0 where neither browser nor address is known; a wrong one 1 more.
 */
export async function reservePasskeyAttempt(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  browser: Browser,
  credentialId: string | undefined,
): Promise<PasskeyAttempt | Refused> {
  const wayIn = passkeyWayIn(credentialId ?? "");
  const isKnown = await isKnownBrowser(context, request, browser, wayIn);
  const address = clientAddress(context, request);
  const own = isKnown ? [{ subject: `known ${browser.id} ${wayIn}`, limit: accountLimit }] : undefined;
  const shared = address === undefined ? [] : [{ subject: `passkey address ${address}`, limit: addressLimit }];
  const attempt = await reserveAll(context, isolate, own ?? shared);
  if (attempt.kind === "refused") return attempt;
  const countWrong = async () => {
    if (isKnown || credentialId === undefined) return undefined;
    const counted = await reserveAll(context, isolate, [{ subject: `wrong ${wayIn}`, limit: accountLimit }]);
    return counted.kind === "refused" ? counted.retryAfterSeconds : undefined;
  };
  return { ...attempt, countWrong };
}

async function reserveAll(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  buckets: readonly Bucket[],
): Promise<Reserved | Refused> {
  const outcomes = await Promise.all(
    buckets.map(({ subject, limit }) => isolate.sessions.reserveAttempt(context, subject, limit)),
  );
  const waits = outcomes.map((outcome) => (outcome.kind === "refused" ? outcome.retryAfterMs : 0));
  const retryAfterMs = Math.max(0, ...waits);
  const release = async () => {
    await Promise.all(buckets.map(({ subject, limit }) => isolate.sessions.refundAttempt(context, subject, limit)));
  };
  if (retryAfterMs === 0) return { kind: "reserved", release };
  return { kind: "refused", retryAfterSeconds: Math.ceil(retryAfterMs / 1000) };
}
