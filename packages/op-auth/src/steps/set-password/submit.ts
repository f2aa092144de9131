import { codeMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import type { PasswordFault } from "@edge-op/shared/secrets/password-policy";
import type { Proof } from "@edge-op/shared/users/session-rpc";
import { rememberBrowser } from "../../attempts/known-browser.ts";
import { checkNewPassword, replacePassword } from "../../passwords/replace-password.ts";
import { passwordWayIn } from "../sign-in/password/reserve-password-attempt.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { findAllowed } from "../subject.ts";
import { findRecovering } from "./find-recovering.ts";

/** What the page can say of a new password. */
export const newPasswordFaults: readonly (PasswordFault | "differ")[] = [
  ...(["malformed", "tooShort", "tooLong", "common", "personal", "simple"] as const),
  "differ",
];

/**
 * **A posted new password.** The change stands before the flow goes on, and the old `f` of this page is void with everything else. Cost: 1 D1 call; then
 * those of replace-password.ts; beside the first, 1 object call with a session cookie.
 */
export async function submitSetPassword(at: StepRequest, form: Form): Promise<StepResult> {
  const { context, request, browser, flow } = at;
  const user = await findRecovering(at);
  if (user === undefined) return { kind: "go to", step: "sign-in" };
  const problem = checkNewPassword(context, user, form);
  if (problem !== undefined) return { kind: "again", problem: { kind: "refused", method: problem.kind } };
  const { sub } = user;
  const allowed = findAllowed(at, sub);
  const [controlVersion] = await Promise.all([
    replacePassword(context, user, form.require("new"), { action: "password.recovered" }),
    allowed,
  ]);
  const codes = flow.proofs.filter(({ method }) => codeMethods.includes(method));
  const password: Proof = { method: "password", sub, atMs: context.arrivedAtMs, controlVersion };
  return {
    kind: "done",
    isAnew: true,
    proofs: [...codes.map((proof) => ({ ...proof, controlVersion })), password],
    allowed: await allowed,
    cookies: [await rememberBrowser(context, request, browser, passwordWayIn(user.username))],
  };
}
