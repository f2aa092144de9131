import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { codeMethods, type ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import { verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { type PasswordFault, passwordFaults } from "@edge-op/shared/secrets/password-policy";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { whileRecoverable } from "../addresses/find-by-address.ts";
import { useRecovery, whileUsable } from "../session/address-recovery.ts";
import { rememberBrowser } from "../session/known-browser.ts";
import { oldestVersion, whileInForce } from "../session/write-as.ts";
import { isRecovering, recoveryFactor, recoveryProof, usableRecovery } from "../step/second-factor.ts";
import type { DecidedRequest, Step, StepPageRequest, StepResult } from "../step/step.ts";
import { findAllowed, stepFrame } from "../step/step-request.ts";
import { findRecovering } from "./find-recovering.ts";
import type { PasswordProblem } from "./new-password.tsx";
import { PasswordPage } from "./password-page.tsx";
import { checkNewPassword, replacePassword } from "./replace-password.ts";
import { passwordWayIn } from "./verify-password-sign-in.ts";

/** The proofs besides the new password: second factors, and the mailbox, which a new browser need not prove again. */
const keptMethods: readonly ProofMethod[] = [...codeMethods, "mailedCode"];

/**
 * **The new password** of a person who has proven their mailbox, or typed a temporary password, and, if the account has one, a second factor. It ends
 * everything that rests on the previous one, so the proofs of the flow are made anew at the version of the change; a temporary password is not among
 * them.
 */
export const setPasswordStep: Step = {
  name: "set-password",
  methods: ["password", ...keptMethods],
  isForPerson: false,
  writes: true,
  state: ({ flow }) => (isRecovering(flow) ? { kind: "needed", error: "login_required" } : { kind: "done" }),
  page: showSetPassword,
  submit: submitSetPassword,
};

/** The faults of a new password that the page can show. */
const newPasswordFaults: readonly (PasswordFault | "differ" | "temporary")[] = [
  ...passwordFaults,
  ...(["differ", "temporary"] as const),
];

/**
 * **A posted new password.** The change stands before the flow goes on, and the old `f` of this page is void with everything else. Cost: 1 D1 call; a
 * password hash after a temporary password; those of replace-password.ts.
 */
async function submitSetPassword(at: DecidedRequest, form: Form): Promise<StepResult> {
  const { context, request, browser, flow, recovery } = at;
  const found = await findRecovering(at);
  if (found === undefined) return { kind: "go to", step: "sign-in" };
  const { user, proof, factors, temporaryHash } = found;
  const problem = await checkNewPassword(context, user, form);
  if (problem !== undefined) return refused(problem.kind);
  // The administrator knows it.
  const isKept = temporaryHash !== undefined && (await verifyPassword(form.require("new"), temporaryHash));
  if (isKept) return refused("temporary");
  const { sub } = user;
  const { arrivedAtMs: atMs } = context;
  const { DB } = context.env;
  // Without it, something else would have been proven: the step is next.
  const used = usableRecovery({ flow, facts: { recovery }, nowMs: atMs });
  if (used === undefined && recoveryFactor({ flow, facts: { factors } }) !== "none")
    return { kind: "go to", step: "sign-in" };
  const allowed = findAllowed(at, sub);
  const guards = [
    whileInForce(DB, { sub, version: oldestVersion(flow.proofs) }),
    whileRecoverable(DB, proof, { factors, temporaryHash }, atMs),
    ...(used === undefined ? [] : [whileUsable(DB, { ...used, sub, atMs })]),
  ] as const;
  const byAddress = used === undefined ? {} : { others: useRecovery(DB, sub), detail: { by: "address" } };
  const [controlVersion] = await Promise.all([
    replacePassword(context, user, form.require("new"), { action: "password.recovered", guards, ...byAddress }),
    allowed,
  ]);
  const kept = flow.proofs.filter(({ method }) => keptMethods.includes(method));
  const password: Proof = { method: "password", sub, atMs: context.arrivedAtMs, controlVersion };
  return {
    kind: "done",
    isAnew: true,
    proofs: [...kept.map((proof) => ({ ...proof, controlVersion })), password],
    allowed: await allowed,
    factors: { ...factors, password: true, ...(used === undefined ? {} : { totp: false, recoveryCodes: false }) },
    isActive: user.status === "active",
    cookies: [await rememberBrowser(context, request, browser, passwordWayIn(user.username))],
  };
}

function refused(method: string): StepResult {
  return { kind: "again", problem: { kind: "refused", method } };
}

/** **The page for a new password.** Cost: 1 D1 call. */
async function showSetPassword(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, restart, flow } = at;
  const found = await findRecovering(at);
  if (found === undefined) return redirect(restart);
  const { user } = found;
  const frame = await stepFrame(at);
  const problem = problemOf(flow.problem);
  const isTemporary = recoveryProof(flow)?.method === "temporaryPassword";
  const view = {
    form,
    text: frame.t(isTemporary ? "password.temporaryText" : "password.recoverText"),
    cancelTo: undefined,
    name: displayName(user),
    isSignedIn: false,
    username: user.username,
    hasPassword: false,
    needsCurrent: false,
    min: context.settings.passwordMin,
    problem,
  };
  return respondPage(<PasswordPage frame={frame} view={view} />, {
    status: problem === undefined ? 200 : 400,
    formLeaves: authorization !== undefined,
  });
}

function problemOf(problem: StepPageRequest["flow"]["problem"]): PasswordProblem | undefined {
  if (problem?.kind !== "refused") return undefined;
  const kind = newPasswordFaults.find((each) => each === problem.method);
  return kind && { kind };
}
