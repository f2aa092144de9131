import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { hashPassword, isOutdatedHash, verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { findPassword, type PasswordRecord, replacePasswordHash } from "@edge-op/shared/users/credentials";
import { rememberBrowser } from "../../../attempts/known-browser.ts";
import type { AuthEnv } from "../../../auth-env.ts";
import type { SignInResult } from "../../sign-in-method.ts";
import type { StepRequest } from "../../step.ts";
import { passwordWayIn, reservePasswordAttempt } from "./reserve-password-attempt.ts";

/**
 * **Verifies a sign-in by password.** An unknown user, a suspended user, a user without a password and a wrong password have the same
 * result after the same work.
 * Cost: 2 object calls and 1 D1 call, beside each other, then 1 password hash (password-hash.ts). A correct attempt is released in the background; a
 * wrong one costs 1 object call more.
 */
export async function verifyPasswordSignIn(at: StepRequest, form: Form): Promise<SignInResult> {
  const { context, request, browser, authorization } = at;
  const username = form.get("username") ?? "";
  const password = form.get("password") ?? "";
  const [attempt, record] = await Promise.all([
    reservePasswordAttempt(at, browser, username),
    findPassword(context.env.DB, username, authorization?.client.clientId),
  ]);
  if (attempt.retryAfterSeconds !== undefined) {
    await attempt.recordThrottled({ sub: record?.sub });
    return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  }
  const isRight = await verifyPassword(password, record?.hash);
  if (!isRight || record?.hash === undefined || record.status !== "active") {
    await attempt.recordFailure({ sub: record?.sub }, reasonOf(record, isRight));
    return { kind: "refused" };
  }
  context.waitUntil(attempt.release());
  if (isOutdatedHash(record.hash)) context.waitUntil(hashAgain(context, record.sub, record.hash, password));
  const cookies = [await rememberBrowser(context, request, browser, passwordWayIn(username))];
  const { sub, allowed, factors } = record;
  return { kind: "signed in", proof: { method: "password", sub }, cookies, allowed, factors };
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
