import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { codeMethods } from "@edge-op/protocol/oauth/authentication-context";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import type { Form } from "@edge-op/shared/http/read-form";
import { withMembers } from "@edge-op/shared/http/request-context";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { hashPassword, verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { findPasswordFault } from "@edge-op/shared/secrets/password-policy";
import { findPassword, savePassword } from "@edge-op/shared/users/credentials";
import { endUserSessions } from "@edge-op/shared/users/ending-sessions";
import { forgetOfflineGrants } from "@edge-op/shared/users/offline-grants";
import type { Proof } from "@edge-op/shared/users/session-rpc";
import { tellPerson } from "@edge-op/shared/users/tell-person";
import type { AuthEnv } from "../auth-env.ts";
import { identifyBrowser } from "../browser/cookies.ts";
import type { SignedInPerson } from "../browser/find-signed-in-person.ts";
import { formToken } from "../browser/form-token.ts";
import { readDeployment } from "../deployment.ts";
import { signInFor } from "../flow/begin-flow.ts";
import { frameOf } from "../pages/frame.ts";
import { openSession, prepareSession } from "../session/open-session.ts";
import { mfaAcr } from "../steps/second-factor.ts";
import { reservePasswordAttempt } from "../steps/sign-in/password/reserve-password-attempt.ts";
import { accountWith } from "./account-notices.ts";
import { isFreshWithTwo } from "./factor-level.ts";
import { PasswordPage, type PasswordView } from "./password-page.tsx";
import {
  type AccountRequest,
  accountForms,
  asPerson,
  asPersonPosting,
  isFreshByPasskey,
  isFreshByUpstream,
} from "./require-person.ts";

const path = "/account/password";

type Problem = NonNullable<PasswordView["problem"]>;

/**
 * **Changes the password of a person**: with the current one, or without it within ten minutes of a sign-in by passkey. A cut-off ends
 * every grant and session of the person up to now, on every shard, as an administrator's change does; a new session is then opened for
 * this browser. Each change counts as an attempt at the account's password.
 * Cost: 1 D1 call, 1 call for the notice to the person (tell-person.ts), one control change over all live shards, 2 password hashes. `ControlPlane` ends the sessions (ADR 16).
 */
export function changePassword(at: AccountRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const password = await describePassword(at, person);
    if (password.isBlocked) return signInFor(at, path, { requiredAcr: password.requiredAcr });
    const problem = checkNewPassword(at, person, form) ?? (await checkCurrent(at, person, password, form));
    if (problem !== undefined) return render(at, person, password, problem);
    const version = await replacePassword(at, person, form.require("new"));
    return reopenSession(at, person, password.needsCurrent, version);
  });
}

export function showChangePassword(at: AccountRequest): Promise<Response> {
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

async function describePassword(at: AccountRequest, person: SignedInPerson): Promise<PasswordState> {
  const record = await findPassword(at.context.env.DB, person.user.username);
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

function checkNewPassword({ context }: AccountRequest, { user }: SignedInPerson, form: Form): Problem | undefined {
  const chosen = form.get("new") ?? "";
  const { settings, env } = context;
  const service = readDeployment(env).name;
  const fault = findPasswordFault(chosen, {
    settings,
    username: user.username,
    email: user.claims.email,
    service,
  });
  if (fault !== undefined) return { kind: fault };
  return chosen === form.get("repeat") ? undefined : { kind: "differ" };
}

async function checkCurrent(
  at: AccountRequest,
  { user }: SignedInPerson,
  { hash, needsCurrent }: PasswordState,
  form: Form,
): Promise<Problem | undefined> {
  const attempt = await reservePasswordAttempt(at, await identifyBrowser(at.context, at.request), user.username);
  if (attempt.retryAfterSeconds !== undefined) {
    await attempt.recordThrottled(user);
    return { kind: "throttled", seconds: attempt.retryAfterSeconds };
  }
  if (!needsCurrent || (await verifyPassword(form.get("current") ?? "", hash))) return undefined;
  await attempt.recordFailure(user, "wrong password at a change of password");
  return { kind: "wrongCurrent" };
}

/** Returns the control version of the change. The session of this browser is bound to it from now on. */
async function replacePassword(at: AccountRequest, { user, session }: SignedInPerson, chosen: string): Promise<number> {
  const { context } = at;
  const { sub } = user;
  const saved = savePassword(context.env.DB, sub, await hashPassword(chosen), context.arrivedAtMs);
  const reason = "password changed";
  const ending = endUserSessions(context.env.DB, sub, { reason, atMs: context.arrivedAtMs, kept: session.sid });
  const changed = { action: "password.changed", target: sub, actor: sub };
  const statements = [...ending, saved, forgetOfflineGrants(context.env.DB, sub), recordAdminEvent(context, changed)];
  const cutOff = { kind: "sub", id: sub, actor: sub } as const;
  const notice = { sub, claims: user.claims, kind: "password-changed", evidence: changed } as const;
  const commit = () => commitControlChange(context, statements, [{ kind: "user", id: sub }], cutOff);
  const committed = await tellPerson(context, notice, commit);
  wakeAuditLog(context);
  return committed.version;
}

/**
 * Opened after the cut-off, which ends every session opened before it. The new session has the person's proofs of now: the current password, or what
 * took its place.
 */
async function reopenSession(
  at: AccountRequest,
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
  return redirect(accountWith("password-changed"), opened.kind === "opened" ? [opened.cookie] : []);
}

async function render(
  { context, request }: AccountRequest,
  { user, sessionId }: SignedInPerson,
  { hash, needsCurrent }: PasswordState,
  problem: Problem | undefined,
): Promise<Response> {
  const view: PasswordView = {
    formToken: await formToken(context, accountForms, sessionId),
    name: displayName(user),
    username: user.username,
    hasPassword: hash !== undefined,
    needsCurrent,
    min: context.settings.passwordMin,
    problem,
  };
  const isThrottled = problem?.kind === "throttled";
  return respondPage(<PasswordPage frame={frameOf(context, request)} view={view} />, {
    status: problem === undefined ? 200 : isThrottled ? 429 : 400,
    headers: isThrottled ? { "Retry-After": String(problem.seconds) } : {},
  });
}
