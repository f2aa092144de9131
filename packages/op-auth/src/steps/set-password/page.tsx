import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { frameOf } from "../../pages/frame.ts";
import { PasswordPage, type PasswordProblem } from "../../passwords/password-page.tsx";
import type { StepPageRequest } from "../step.ts";
import { findRecovering } from "./find-recovering.ts";
import { newPasswordFaults } from "./submit.ts";

/** **The page for a new password.** Cost: 1 D1 call. */
export async function showSetPassword(at: StepPageRequest): Promise<Response> {
  const { context, request, authorization, form, restart, flow } = at;
  const user = await findRecovering(at);
  if (user === undefined) return redirect(restart);
  const frame = frameOf(context, request, authorization?.request.uiLocales);
  const problem = problemOf(flow.problem);
  const view = {
    form,
    text: frame.t("password.recoverText"),
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
    formTarget: authorization?.request.redirectUri,
  });
}

function problemOf(problem: StepPageRequest["flow"]["problem"]): PasswordProblem | undefined {
  if (problem?.kind !== "refused") return undefined;
  const kind = newPasswordFaults.find((each) => each === problem.method);
  return kind && { kind };
}
