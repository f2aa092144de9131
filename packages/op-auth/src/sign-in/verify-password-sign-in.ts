import { findPassword, type PasswordRecord, replacePasswordHash } from "@edge-op/shared/directory/credentials";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { authenticationContexts } from "@edge-op/shared/oauth/authentication-context";
import type { Authentication } from "@edge-op/shared/objects/session-store";
import { hashPassword, isOutdatedHash, verifyPassword } from "@edge-op/shared/secrets/password-hash";
import type { AuthEnv } from "../auth-env.ts";
import type { Browser } from "../browser/cookies.ts";
import type { AuthIsolate } from "../isolate.ts";
import { passwordWayIn, rememberBrowser } from "./known-browser.ts";
import { reservePasswordAttempt } from "./sign-in-limits.ts";

export type SignInResult =
  | { readonly kind: "signedIn"; readonly authentication: Authentication; readonly cookies: readonly string[] }
  | { readonly kind: "wrong" | "wrongPasskey" }
  | { readonly kind: "throttled"; readonly seconds: number };

/**
 * **Signs in by password.** Unknown, suspended, without a password, wrong: one answer, after the same work.
 * Cost: 2 object calls and 1 D1 call, 1 password hash (password-hash.ts); right ones give their attempt back in the background, wrong
 * ones cost 1 object call more.
 */
export async function verifyPasswordSignIn(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  browser: Browser,
  { username, password }: { readonly username: string; readonly password: string },
): Promise<SignInResult> {
  let record: PasswordRecord | undefined;
  const attempt = await reservePasswordAttempt(context, isolate, request, browser, async () => {
    record = await findPassword(context.env.DB, username);
    return record === undefined ? { unknownName: username } : { sub: record.sub };
  });
  if (attempt.kind === "refused") return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  const isRight = await verifyPassword(password, record?.hash);
  if (!isRight || record?.hash === undefined || record.status !== "active") {
    await attempt.recordFailure(reasonOf(record, isRight));
    return { kind: "wrong" };
  }
  context.waitUntil(attempt.release());
  if (isOutdatedHash(record.hash)) context.waitUntil(hashAgain(context, record.sub, record.hash, password));
  const { acr, amr } = authenticationContexts.password;
  const cookie = await rememberBrowser(context, request, browser, passwordWayIn(record.sub));
  return { kind: "signedIn", authentication: { sub: record.sub, acr, amr }, cookies: [cookie] };
}

function reasonOf(record: PasswordRecord | undefined, isRight: boolean): string {
  if (record === undefined) return "unknown user";
  if (record.hash === undefined) return "no password";
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
