import type { Form } from "@edge-op/shared/http/read-form";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { hashPassword, isOutdatedHash } from "@edge-op/shared/secrets/password-hash";
import { findPassword, type PasswordRecord, replacePasswordHash } from "@edge-op/shared/users/credentials";
import { rememberBrowser } from "../../../attempts/known-browser.ts";
import type { AuthEnv } from "../../../auth-env.ts";
import type { SignInResult } from "../../sign-in-method.ts";
import type { StepRequest } from "../../step.ts";
import { passwordWayIn, reservePasswordAttempt } from "./reserve-password-attempt.ts";
import { verifyStoredPassword } from "./verify-legacy-password.ts";

/**
 * **Verifies a sign-in by password.** An unknown user, a suspended user, a user without a password and a wrong password have the same
 * result after the same work. A temporary password proves nothing but that its person may set another one (recovery.ts).
 * Cost: 2 object calls and 1 D1 call, in parallel, then 1 password hash (password-hash.ts). A correct attempt is released in the background; a
 * wrong one costs 1 object call more.
 */
export async function verifyPasswordSignIn(at: StepRequest, form: Form): Promise<SignInResult> {
  const { context, request, browser, authorization } = at;
  const username = form.get("username") ?? "";
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
    return { kind: "refused" };
  }
  context.waitUntil(attempt.release());
  if (isOutdatedHash(hash)) context.waitUntil(hashAgain(context, record.sub, hash, password));
  const cookies = [await rememberBrowser(context, request, browser, passwordWayIn(username))];
  const { sub, allowed, factors } = record;
  const method = record.hash === undefined ? "temporaryPassword" : "password";
  return { kind: "signed in", proof: { method, sub }, cookies, allowed, factors };
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
