import { canonicalUsername } from "@edge-op/shared/directory/username";
import { clientAddress } from "@edge-op/shared/http/client-address";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AttemptLimit, RefusedSignIn } from "@edge-op/shared/objects/session-store";
import type { AuthEnv } from "../auth-env.ts";
import type { Browser } from "../browser/cookies.ts";
import type { AuthIsolate } from "../isolate.ts";
import { isKnownBrowser, passkeyWayIn, passwordWayIn } from "./known-browser.ts";
import { logRefusedSignIn } from "./report-refused-sign-in.ts";

/** About 3,000 guesses a day at one account; its owner waits half a minute at most, and not on a browser they know. */
const accountLimit: AttemptLimit = { capacity: 10, drainMs: 30_000 };
/** Many people may share an address. */
const addressLimit: AttemptLimit = { capacity: 50, drainMs: 3_000 };

interface Bucket {
  readonly name: "account" | "address" | "browser" | "passkey";
  readonly subject: string;
  readonly limit: AttemptLimit;
}

interface Reserved {
  readonly kind: "reserved";
  /** Gives the attempt back: it was right. */
  release(): Promise<void>;
  /** The attempt was wrong: a log line and an audit event. */
  recordFailure(reason: string): Promise<void>;
}

interface Refused {
  readonly kind: "refused";
  readonly retryAfterSeconds: number;
}

/** Whose password it is, or the name that nobody has: both are slowed alike, so that waiting does not tell which. */
export type PasswordAccount = { readonly sub: string } | { readonly unknownName: string };

/**
 * **Slows guessing without locking anyone out**: a bucket for the address, and one for the account, whatever spelling names it, reserved
 * before a password is looked at and given back when it was right. A browser that signed in to the account before has a bucket of its
 * own, so that a stranger who fills the account's cannot keep its owner away. The account is looked up only where the address may try.
 * Cost: 2 object calls; 1 more for a wrong one.
 */
export async function reservePasswordAttempt(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  browser: Browser,
  findAccount: () => Promise<PasswordAccount>,
): Promise<Reserved | Refused> {
  const address = clientAddress(context, request);
  const shared: Bucket[] =
    address === undefined ? [] : [{ name: "address", subject: `address ${address}`, limit: addressLimit }];
  const first = await reserveAll(context, isolate, shared, { method: "password", sub: undefined });
  if (first.kind === "refused") return first;
  const account = await findAccount();
  const bucket = await accountBucket(context, request, browser, account);
  const sub = "sub" in account ? account.sub : undefined;
  const second = await reserveAll(context, isolate, [bucket], { method: "password", sub });
  if (second.kind === "refused") return second;
  const release = async () => {
    await Promise.all([first.release(), second.release()]);
  };
  return { ...second, release };
}

async function accountBucket(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  browser: Browser,
  account: PasswordAccount,
): Promise<Bucket> {
  if ("unknownName" in account) {
    const name = canonicalUsername(account.unknownName) ?? account.unknownName.normalize("NFKC").toLowerCase();
    return { name: "account", subject: `unknown account ${name}`, limit: accountLimit };
  }
  const wayIn = passwordWayIn(account.sub);
  return (await isKnownBrowser(context, request, browser, wayIn))
    ? { name: "browser", subject: `known ${browser.id} ${wayIn}`, limit: accountLimit }
    : { name: "account", subject: `account ${wayIn}`, limit: accountLimit };
}

export interface PasskeyAttempt extends Omit<Reserved, "recordFailure"> {
  /** It was wrong: a log line, and an audit event for a passkey that exists; seconds to wait, once there have been too many. */
  countWrong(sub: string | undefined, reason: string): Promise<number | undefined>;
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
  const own: Bucket = { name: "browser", subject: `known ${browser.id} ${wayIn}`, limit: accountLimit };
  const shared: Bucket[] =
    address === undefined ? [] : [{ name: "address", subject: `passkey address ${address}`, limit: addressLimit }];
  const who = { method: "passkey", sub: undefined } as const;
  const attempt = await reserveAll(context, isolate, isKnown ? [own] : shared, who);
  if (attempt.kind === "refused") return attempt;
  const countWrong = async (sub: string | undefined, reason: string) => {
    const failed = { method: "passkey", sub, reason } as const;
    logRefusedSignIn(context, "sign-in-failed", failed);
    const wrong: Bucket = { name: "passkey", subject: `wrong ${wayIn}`, limit: accountLimit };
    const isCounted = !isKnown && credentialId !== undefined;
    const counted = isCounted ? await reserveAll(context, isolate, [wrong], { method: "passkey", sub }) : undefined;
    if (counted?.kind === "refused") return counted.retryAfterSeconds;
    // Anyone can name passkeys that do not exist, without end: those are logged only.
    if (sub !== undefined) await isolate.sessions.recordFailedSignIn(context, wrong.subject, failed);
    return undefined;
  };
  return { kind: "reserved", release: attempt.release, countWrong };
}

async function reserveAll(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  buckets: readonly Bucket[],
  who: Omit<RefusedSignIn, "reason">,
): Promise<Reserved | Refused> {
  const results = await Promise.all(
    buckets.map(async ({ name, subject, limit }) => {
      const throttled = { ...who, reason: `too many attempts: ${name}` };
      const result = await isolate.sessions.reserveAttempt(context, subject, limit, throttled);
      if (result.kind === "refused") logRefusedSignIn(context, "sign-in-throttled", throttled);
      return result;
    }),
  );
  const waits = results.map((result) => (result.kind === "refused" ? result.retryAfterMs : 0));
  const retryAfterMs = Math.max(0, ...waits);
  if (retryAfterMs > 0) return { kind: "refused", retryAfterSeconds: Math.ceil(retryAfterMs / 1000) };
  const release = async () => {
    await Promise.all(buckets.map(({ subject, limit }) => isolate.sessions.refundAttempt(context, subject, limit)));
  };
  const recordFailure = async (reason: string) => {
    const failed = { ...who, reason };
    logRefusedSignIn(context, "sign-in-failed", failed);
    await Promise.all(buckets.map(({ subject }) => isolate.sessions.recordFailedSignIn(context, subject, failed)));
  };
  return { kind: "reserved", release, recordFailure };
}
