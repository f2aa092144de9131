import { clientAddress } from "@edge-op/shared/http/client-address";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { macText, verifyMac } from "@edge-op/shared/keys/mac";
import type { AttemptLimit } from "@edge-op/shared/storage/session-store";
import type { AuthEnv } from "../auth-env.ts";
import { type Browser, formatCookie, readCookie } from "../cookies.ts";
import type { AuthIsolate } from "../isolate.ts";

/** About 3,000 guesses a day at one account; its owner waits half a minute at most, and not on a browser they know. */
const accountLimit: AttemptLimit = { capacity: 10, drainMs: 30_000 };
/** Many people may share an address. */
const addressLimit: AttemptLimit = { capacity: 50, drainMs: 3_000 };

const knownAccountsKept = 5;
const knownSeconds = 180 * 86_400;

interface Bucket {
  readonly subject: string;
  readonly limit: AttemptLimit;
}

export type AttemptReservation =
  | { readonly kind: "reserved"; release(): Promise<void> }
  | { readonly kind: "refused"; readonly retryAfterSeconds: number };

/**
 * **Slows guessing without locking anyone out**: a bucket for the account and one for the address, reserved before a password is
 * looked at and given back when it was right. A browser that signed in to the account before has a bucket of its own, so that a
 * stranger who fills the account's cannot keep its owner away. Cost: 2 object calls, in parallel.
 */
export async function reserveSignInAttempt(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: Request,
  browser: Browser,
  username: string,
): Promise<AttemptReservation> {
  const account = normalize(username);
  const isKnown = await isKnownBrowser(context, request, browser, account);
  const address = clientAddress(context, request);
  const buckets: Bucket[] = [
    { subject: isKnown ? `known ${browser.id} ${account}` : `account ${account}`, limit: accountLimit },
    ...(address === undefined ? [] : [{ subject: `address ${address}`, limit: addressLimit }]),
  ];
  const outcomes = await Promise.all(
    buckets.map(({ subject, limit }) => isolate.sessions.reserveAttempt(context, subject, limit)),
  );
  const waits = outcomes.map((outcome) => (outcome.kind === "refused" ? outcome.retryAfterMs : 0));
  const retryAfterMs = Math.max(...waits);
  const release = async () => {
    await Promise.all(buckets.map(({ subject, limit }) => isolate.sessions.refundAttempt(context, subject, limit)));
  };
  if (retryAfterMs === 0) return { kind: "reserved", release };
  return { kind: "refused", retryAfterSeconds: Math.ceil(retryAfterMs / 1000) };
}

/** The cookie that makes this browser a known one for an account, beside those it knows already. */
export async function rememberBrowser(
  context: RequestContext<AuthEnv>,
  request: Request,
  browser: Browser,
  username: string,
): Promise<string> {
  const tag = await macText(context.env, "cookie-mac", knownText(browser, normalize(username)));
  const others = knownTags(context, request).filter((other) => other !== tag);
  return formatCookie(context, "op-known", [tag, ...others].slice(0, knownAccountsKept).join("."), knownSeconds);
}

async function isKnownBrowser(
  context: RequestContext<AuthEnv>,
  request: Request,
  browser: Browser,
  account: string,
): Promise<boolean> {
  const checks = knownTags(context, request).map((tag) =>
    verifyMac(context.env, "cookie-mac", knownText(browser, account), tag),
  );
  return (await Promise.all(checks)).includes(true);
}

function knownTags(context: RequestContext<AuthEnv>, request: Request): string[] {
  return readCookie(context, request, "op-known")?.split(".").slice(0, knownAccountsKept) ?? [];
}

function knownText(browser: Browser, account: string): string {
  return `known\n${browser.id}\n${account}`;
}

/** As D1 compares usernames: without case. */
function normalize(username: string): string {
  return username.normalize("NFKC").toLowerCase();
}
