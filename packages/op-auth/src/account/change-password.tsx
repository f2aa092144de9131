import { identifyBrowser } from "@edge-op/pages/cookies";
import { formToken } from "@edge-op/pages/form-token";
import { displayName } from "@edge-op/pages/person";
import { respondPage } from "@edge-op/pages/respond-page";
import { codeMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import { withMembers } from "@edge-op/shared/http/request-context";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { verifyPassword } from "@edge-op/shared/secrets/password-hash";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { findPassword } from "@edge-op/shared/users/credentials";
import { type PageRequest, personFrame } from "../pages/frame.ts";
import type { PasswordProblem } from "../passwords/new-password.tsx";
import { PasswordPage, type PasswordView } from "../passwords/password-page.tsx";
import { checkNewPassword, replacePassword } from "../passwords/replace-password.ts";
import { reservePasswordAttempt } from "../passwords/verify-password-sign-in.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { openSession, prepareSession } from "../session/open-session.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { whileInForce, whileUnchanged } from "../session/write-as.ts";
import { signInFor } from "../step/sealed-flow.ts";
import { mfaAcr } from "../step/second-factor.ts";
import { accountPages } from "./account-areas.ts";
import { accountWith } from "./account-notices.ts";
import { isFreshWithTwo } from "./factor-level.ts";
import { accountForms, asPerson, asPersonPosting, isFreshByPasskey, isFreshByUpstream } from "./require-person.ts";

const path = "/account/password";

/**
 * **Changes the password of a person**: with the current one, or without it within ten minutes of a sign-in by passkey. A cut-off ends
 * every grant and session of the person up to now, on every shard, as an administrator's change does; a new session is then opened for
 * this browser. Each change counts as an attempt at the account's password.
 * Cost: 1 D1 call, 1 password hash, and those of replace-password.ts.
 */
export function changePassword(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const password = await describePassword(at, person);
    if (password.isBlocked) return signInFor(at, path, { requiredAcr: password.requiredAcr });
    const problem =
      (await checkNewPassword(at.context, person.user, form)) ?? (await checkCurrent(at, person, password, form));
    if (problem !== undefined) return render(at, person, password, problem);
    const { user, session } = person;
    const { DB } = at.context.env;
    // Of two changes that were confirmed by the same password, the first stands.
    const isSamePassword = "(SELECT hash FROM user_passwords WHERE sub = ?1 AND temporary_until_ms IS NULL) IS ?2";
    const guards = [
      whileInForce(DB, basisOf(person)),
      whileUnchanged(DB, isSamePassword, user.sub, password.hash ?? null),
    ] as const;
    const replacement = { action: "password.changed", guards, kept: session.sid } as const;
    const version = await replacePassword(at.context, user, form.require("new"), replacement);
    return reopenSession(at, person, password.needsCurrent, version);
  });
}

export function showChangePassword(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const password = await describePassword(at, person);
    return password.isBlocked
      ? signInFor(at, path, { requiredAcr: password.requiredAcr })
      : render(at, person, password, undefined);
  });
}

interface PasswordState {
  readonly hash: string | undefined;
  readonly needsCurrent: boolean;
  /** The person has no password to confirm the change with, or has two factors and has not proven both: they must sign in first. */
  readonly isBlocked: boolean;
  readonly requiredAcr: readonly string[] | undefined;
}

async function describePassword(at: PageRequest, person: SignedInPerson): Promise<PasswordState> {
  const { record } = await findPassword(at.context.env.DB, person.user.username);
  const hash = record?.sub === person.user.sub ? record.hash : undefined;
  const isByPasskey = isFreshByPasskey(at, person);
  const isBelowLevel = record?.factors.totp === true && !isFreshWithTwo(at, person);
  // A person who has neither signs in at an upstream provider, which is the level of their account.
  const isByOthers = hash === undefined && record?.factors.passkeys === false && isFreshByUpstream(at, person);
  return {
    hash,
    needsCurrent: hash !== undefined && !isByPasskey,
    isBlocked: isBelowLevel || (hash === undefined && !isByPasskey && !isByOthers),
    requiredAcr: isBelowLevel ? mfaAcr : undefined,
  };
}

async function checkCurrent(
  at: PageRequest,
  { user }: SignedInPerson,
  { hash, needsCurrent }: PasswordState,
  form: Form,
): Promise<PasswordProblem | undefined> {
  const attempt = await reservePasswordAttempt(at, await identifyBrowser(at.context, at.request), user.username);
  if (attempt.retryAfterSeconds !== undefined) {
    await attempt.recordThrottled(user);
    return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  }
  if (!needsCurrent || (await verifyPassword(form.get("current") ?? "", hash))) return undefined;
  await attempt.recordFailure(user, "wrong password at a change of password");
  return { kind: "wrongCurrent" };
}

/**
 * Opened after the cut-off, which ends every session opened before it. The new session has the person's proofs of now: the current password, or what
 * took its place.
 */
async function reopenSession(
  at: PageRequest,
  person: SignedInPerson,
  hasProvenPassword: boolean,
  version: number,
): Promise<Response> {
  const { sub } = person.user;
  const atMs = nowMs();
  const { proofs: known } = person.session;
  const password: Proof = { method: "password", sub, atMs, controlVersion: version };
  // A proof of the previous password is void; a second factor that was proven beside it is not.
  const kept = known.filter(({ method }) => (hasProvenPassword ? codeMethods.includes(method) : method !== "password"));
  const others = kept.map((proof) => ({ ...proof, controlVersion: version }));
  const proofs = hasProvenPassword ? [...others, password] : others;
  const afterwards = { ...at, context: withMembers<AuthEnv>(at.context, { arrivedAtMs: atMs }) };
  const signIn = { sub, proofs, version };
  const opened = await openSession(afterwards, signIn, await prepareSession(afterwards, signIn, { person }));
  return accountWith(at.context, "password-changed", { cookies: opened.kind === "opened" ? opened.cookies : [] });
}

async function render(
  { context, request }: PageRequest,
  { user, sessionId }: SignedInPerson,
  { hash, needsCurrent }: PasswordState,
  problem: PasswordProblem | undefined,
): Promise<Response> {
  const frame = await personFrame({ context, request }, user);
  const view: PasswordView = {
    form: { action: path, fields: { form_token: await formToken(context, accountForms, sessionId) } },
    text: frame.t("password.text"),
    cancelTo: accountPages.security,
    name: displayName(user),
    isSignedIn: true,
    username: user.username,
    hasPassword: hash !== undefined,
    needsCurrent,
    min: context.settings.passwordMin,
    problem,
  };
  const isThrottled = problem?.kind === "throttled";
  return respondPage(<PasswordPage frame={frame} view={view} />, {
    status: problem === undefined ? 200 : isThrottled ? 429 : 400,
    headers: isThrottled ? { "Retry-After": String(problem.seconds) } : {},
  });
}
