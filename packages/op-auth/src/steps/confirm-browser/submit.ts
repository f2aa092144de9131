import type { Form } from "@edge-op/shared/http/read-form";
import { pendingProofs } from "../flow.ts";
import { judgeCode } from "../recover/judge-code.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { findAllowed } from "../subject.ts";
import { beginConfirmBrowser } from "./begin.ts";

/**
 * **A posted code**, of the person whose password was proven in this flow: nobody is named here. Cost: as in judge-code.ts, in parallel 1 D1 call for the
 * consent; 1 object call for another code.
 */
export async function submitConfirmBrowser(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  if (form.get("account") === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  const [proof] = pendingProofs(at.flow);
  if (proof === undefined) return { kind: "go to", step: "sign-in" };
  const { sub } = proof;
  const { mailed } = at.flow.marks;
  if (mailed?.purpose !== "sign-in" || form.get("again") !== undefined) {
    const { marks, problem } = await beginConfirmBrowser(at, sub);
    if (problem !== undefined) return { kind: "again", problem, marks };
    return { kind: "go to", step: "confirm-browser", marks };
  }
  const [judged, allowed] = await Promise.all([judgeCode(at, mailed, form.get("code") ?? ""), findAllowed(at, sub)]);
  if (judged.kind === "again") return judged;
  // The address has been given to somebody else meanwhile.
  if (judged.account.sub !== sub) return { kind: "again", problem: { kind: "refused", method: "over" } };
  const { proof: mailbox, account, cookie } = judged;
  return {
    kind: "done",
    proofs: [mailbox],
    marks: { mailed: undefined },
    cookies: [cookie],
    factors: account.factors,
    allowed,
  };
}
