import type { Form } from "@edge-op/shared/http/read-form";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { requestCode } from "../../mailed-codes/mailed-code.ts";
import { leaveByDomain } from "../../upstream/discovery.ts";
import type { MailedCode } from "../flow.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { stepFrame } from "../step-frame.ts";
import { judgeCode } from "./judge-code.ts";

/**
 * **A posted address, or a posted code.** Of an address nothing is looked up, so that an address without an account, a suspended account and every other one
 * have the same response after the same calls. Cost: 1 object call for an address; for a code as in judge-code.ts.
 */
export async function submitRecover(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const { mailed } = at.flow.marks;
  const typed = form.get("address");
  if (typed !== undefined) return (await leaveByDomain(at, form, { typed })) ?? sendTo(at, typed);
  if (mailed?.purpose !== "recover" || form.get("other") !== undefined) {
    return { kind: "go to", step: "recover", marks: { mailed: undefined } };
  }
  return form.get("again") === undefined ? judge(at, mailed, form.get("code") ?? "") : sendTo(at, mailed.address);
}

async function sendTo(at: StepRequest, typed: string): Promise<StepResult> {
  const { context, browser, flow } = at;
  const address = parseEmailAddress(typed);
  const again = { kind: "again", typed: typed.slice(0, 254) } as const;
  if (address === undefined) return { ...again, problem: { kind: "refused", method: "invalidAddress" } };
  const { language } = stepFrame(at).t;
  const owner = { browser, id: flow.fid };
  const requested = await requestCode(at, owner, { purpose: "recover", address, language });
  if (requested.kind === "throttled") {
    const untilMs = context.arrivedAtMs + requested.seconds * 1000;
    return { ...again, problem: { kind: "throttled", untilMs } };
  }
  return { kind: "go to", step: "recover", marks: { mailed: requested.mailed } };
}

async function judge(at: StepRequest, mailed: MailedCode, typed: string): Promise<StepResult> {
  const judged = await judgeCode(at, mailed, typed);
  if (judged.kind === "again") return judged;
  const { proof, account, cookie } = judged;
  return {
    kind: "done",
    proofs: [proof],
    marks: { mailed: undefined },
    cookies: [cookie],
    factors: account.factors,
    isActive: account.isActive,
    allowed: undefined,
  };
}
