import { codeMethods, type ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import { verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { type PasswordFault, passwordFaults } from "@edge-op/shared/secrets/password-policy";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { checkNewPassword, replacePassword } from "../../passwords/replace-password.ts";
import { rememberBrowser } from "../../session/known-browser.ts";
import { oldestVersion, whileInForce } from "../../session/write-as.ts";
import type { StepRequest, StepResult } from "../../step/step.ts";
import { findAllowed } from "../../step/step-request.ts";
import { whileRecoverable } from "../recover/find-by-address.ts";
import { passwordWayIn } from "../sign-in/password/reserve-password-attempt.ts";
import { findRecovering } from "./find-recovering.ts";

/** The proofs besides the new password: second factors, and the mailbox, which a new browser need not prove again. */
export const keptMethods: readonly ProofMethod[] = [...codeMethods, "mailedCode"];

/** The faults of a new password that the page can show. */
export const newPasswordFaults: readonly (PasswordFault | "differ" | "temporary")[] = [
  ...passwordFaults,
  ...(["differ", "temporary"] as const),
];

/**
 * **A posted new password.** The change stands before the flow goes on, and the old `f` of this page is void with everything else. Cost: 1 D1 call; a password hash
 * after a temporary password; those of replace-password.ts.
 */
export async function submitSetPassword(at: StepRequest, form: Form): Promise<StepResult> {
  const { context, request, browser, flow } = at;
  const found = await findRecovering(at);
  if (found === undefined) return { kind: "go to", step: "sign-in" };
  const { user, proof, factors, temporaryHash } = found;
  const problem = await checkNewPassword(context, user, form);
  if (problem !== undefined) return refused(problem.kind);
  // The administrator knows it.
  const isKept = temporaryHash !== undefined && (await verifyPassword(form.require("new"), temporaryHash));
  if (isKept) return refused("temporary");
  const { sub } = user;
  const allowed = findAllowed(at, sub);
  const guards = [
    whileInForce(context.env.DB, { sub, version: oldestVersion(flow.proofs) }),
    whileRecoverable(context.env.DB, proof, { factors, temporaryHash }, context.arrivedAtMs),
  ] as const;
  const [controlVersion] = await Promise.all([
    replacePassword(context, user, form.require("new"), { action: "password.recovered", guards }),
    allowed,
  ]);
  const kept = flow.proofs.filter(({ method }) => keptMethods.includes(method));
  const password: Proof = { method: "password", sub, atMs: context.arrivedAtMs, controlVersion };
  return {
    kind: "done",
    isAnew: true,
    proofs: [...kept.map((proof) => ({ ...proof, controlVersion })), password],
    allowed: await allowed,
    factors: { ...factors, password: true },
    isActive: user.status === "active",
    cookies: [await rememberBrowser(context, request, browser, passwordWayIn(user.username))],
  };
}

function refused(method: string): StepResult {
  return { kind: "again", problem: { kind: "refused", method } };
}
