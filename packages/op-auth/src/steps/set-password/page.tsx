import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import { passwordMessages } from "../../passwords/messages.ts";
import type { PasswordProblem } from "../../passwords/new-password.tsx";
import { PasswordPage } from "../../passwords/password-page.tsx";
import { recoveryProof } from "../../step/second-factor.ts";
import type { StepPageRequest } from "../../step/step.ts";
import { stepFrame } from "../../step/step-request.ts";
import { findRecovering } from "./find-recovering.ts";
import { newPasswordFaults } from "./submit.ts";

/** **The page for a new password.** Cost: 1 D1 call. */
export async function showSetPassword(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, restart, flow } = at;
  const found = await findRecovering(at);
  if (found === undefined) return redirect(restart);
  const { user } = found;
  const frame = stepFrame(at);
  const problem = problemOf(flow.problem);
  const isTemporary = recoveryProof(flow)?.method === "temporaryPassword";
  const view = {
    form,
    text: createTranslator(
      passwordMessages,
      frame.t.language,
    )(isTemporary ? "password.temporaryText" : "password.recoverText"),
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
