import type { Browser } from "@edge-op/pages/cookies";
import { clientAddress } from "@edge-op/shared/http/client-address";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { hashPassword, isOutdatedHash } from "@edge-op/shared/secrets/password-hash";
import { passwordLanes, sharedLane } from "@edge-op/shared/sessions/attempts";
import { findPassword, type PasswordRecord, replacePasswordHash } from "@edge-op/shared/users/credentials";
import { canonicalUsername } from "@edge-op/shared/users/username";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { isKnownBrowser, rememberBrowser, type WayIn } from "../session/known-browser.ts";
import { addressBuckets, type Bucket, type ReservedAttempt, reserveAttempt } from "../session/sign-in-limits.ts";
import type { SignInResult } from "../step/sign-in-method.ts";
import type { StepRequest } from "../step/step.ts";
import { verifyStoredPassword } from "./verify-legacy-password.ts";

/**
 * **Verifies a sign-in by password.** An unknown user, a user without a password and a wrong password have the same result after the same work; a
 * suspended user too, unless the password is right: who knows it is told why. A temporary password proves nothing but that its person may set
 * another one (second-factor.ts).
 * Cost: 2 object calls and 1 D1 call, beside each other, then 1 password hash (password-hash.ts). A correct attempt is released in the background; a
 * wrong one costs 1 object call more.
 */
export async function verifyPasswordSignIn(at: StepRequest, form: Form): Promise<SignInResult> {
  const { context, request, browser, authorization } = at;
  const username = readUsername(form);
  const password = form.get("password") ?? "";
  const [attempt, { record, dearestMs }] = await Promise.all([
    reservePasswordAttempt(at, browser, username),
    findPassword(context.env.DB, username, authorization?.client.clientId),
  ]);
  if (attempt.retryAfterSeconds !== undefined) {
    await attempt.recordThrottled({ sub: record?.sub });
    return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  }
  const hash = record?.hash ?? temporaryHash(record, context.arrivedAtMs);
  const isRight = await verifyStoredPassword(at, { username, password }, { hash, record, dearestMs });
  if (!isRight || record === undefined || hash === undefined || record.status !== "active") {
    await attempt.recordFailure({ sub: record?.sub }, reasonOf(record, isRight));
    return { kind: isRight && record?.status === "suspended" ? "suspended" : "refused" };
  }
  context.waitUntil(attempt.release());
  if (isOutdatedHash(hash)) context.waitUntil(hashAgain(context, record.sub, hash, password));
  const cookies = [await rememberBrowser(context, request, browser, passwordWayIn(username))];
  const { sub, allowed, factors } = record;
  const method = record.hash === undefined ? "temporaryPassword" : "password";
  return { kind: "signed in", proof: { method, sub }, cookies, allowed, factors };
}

/** The typed name. Keyboards of phones add blanks, which no username begins or ends with. */
export function readUsername(form: Form): string {
  return (form.get("username") ?? "").trim();
}

/** `undefined` once it has ended. */
function temporaryHash(record: PasswordRecord | undefined, atMs: number): string | undefined {
  return record?.temporary !== undefined && record.temporary.untilMs > atMs ? record.temporary.hash : undefined;
}

function reasonOf(record: PasswordRecord | undefined, isRight: boolean): string {
  if (record === undefined) return "unknown user";
  if (record.hash === undefined && record.temporary === undefined) return "no password";
  return isRight ? "suspended" : "wrong password";
}

async function hashAgain(
  { env }: RequestContext<AuthEnv>,
  sub: string,
  known: string,
  password: string,
): Promise<void> {
  await replacePasswordHash(env.DB, sub, { known, renewed: await hashPassword(password) });
}

/**
 * The counter of a name, the same for every spelling. A name without an account has one too, so that throttling does not reveal which names exist; so
 * has text that no account can have as its name.
 */
export function passwordWayIn(username: string): WayIn {
  return `password\n${canonicalUsername(username) ?? `\n${username.normalize("NFKC").toLowerCase()}`}`;
}

/**
 * **Reserves an attempt at a password before it is verified**, in the bucket of the address and that of the name, while the account is read. The
 * caller releases a correct attempt. A browser that signed in by this name before has a lane to itself and does not count for its address, so that
 * nobody else keeps its owner out. Cost: 2 object calls beside each other, 1 in a known browser; 1 more for a wrong or a refused attempt.
 */
export async function reservePasswordAttempt(
  { context, isolate, request }: PageRequest,
  browser: Browser,
  username: string,
): Promise<ReservedAttempt> {
  const wayIn = passwordWayIn(username);
  const own: Bucket = { name: "browser", subject: `known ${browser.id} ${wayIn}`, lanes: [sharedLane] };
  const account: Bucket = {
    name: "account",
    subject: `account ${wayIn}`,
    lanes: passwordLanes(clientAddress(context, request)),
  };
  const isKnown = await isKnownBrowser(context, request, browser, wayIn);
  const buckets = isKnown ? [own] : [...addressBuckets(context, request, "address"), account];
  return reserveAttempt(context, isolate, buckets, "password");
}
