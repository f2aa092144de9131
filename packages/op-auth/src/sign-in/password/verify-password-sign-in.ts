import { authenticationContexts } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { hashPassword, isOutdatedHash, verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { findPassword, type PasswordRecord, replacePasswordHash } from "@edge-op/shared/users/credentials";
import type { AuthEnv } from "../../auth-env.ts";
import { identifyBrowser } from "../../browser/cookies.ts";
import { rememberBrowser } from "../known-browser.ts";
import type { SignInRequest, SignInResult } from "../sign-in-method.ts";
import { passwordWayIn, reservePasswordAttempt } from "./reserve-password-attempt.ts";

/**
 * **Verifies a sign-in by password.** An unknown user, a suspended user, a user without a password and a wrong password have the same
 * result after the same work.
 * Cost: 2 object calls, 1 D1 call and 1 password hash (password-hash.ts). A correct attempt is released in the background; a wrong one
 * costs 1 object call more.
 */
export async function verifyPasswordSignIn(at: SignInRequest, form: Form): Promise<SignInResult> {
  const { context, isolate, request } = at;
  const username = form.get("username") ?? "";
  const password = form.get("password") ?? "";
  const browser = await identifyBrowser(context, request);
  let record: PasswordRecord | undefined;
  const attempt = await reservePasswordAttempt(context, isolate, request, browser, async () => {
    record = await findPassword(context.env.DB, username);
    return record === undefined ? { unknownName: username } : { sub: record.sub };
  });
  if (attempt.kind === "refused") return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  const isRight = await verifyPassword(password, record?.hash);
  if (!isRight || record?.hash === undefined || record.status !== "active") {
    await attempt.recordFailure(reasonOf(record, isRight));
    return { kind: "refused" };
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
