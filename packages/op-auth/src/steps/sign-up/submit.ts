import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { Form } from "@edge-op/shared/http/read-form";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { requestCode, tryCode } from "../../mailed-codes/mailed-code.ts";
import { taken } from "../../sign-up/account-exists.tsx";
import { isIdentifierTaken } from "../../sign-up/is-identifier-taken.ts";
import { longestName, readName } from "../../sign-up/read-name.ts";
import { isDomainAllowed, isSignUpOpen } from "../../sign-up/sign-up-rule.ts";
import { leaveByDomain } from "../../upstream/discovery.ts";
import type { MailedCode, Newcomer } from "../flow.ts";
import { newcomerOf } from "../newcomer.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { stepFrame } from "../step-frame.ts";

/**
 * **A posted name and address, or a posted code.** Of an address nothing is looked up: who has entered the code of a mail to it learns whether it has an
 * account. Cost: 1 object call; for the right code 1 D1 call after it.
 */
export async function submitSignUp(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  if (form.get("account") === "existing") return { kind: "done", marks: { hasAccount: true, newcomer: undefined } };
  const { flow } = at;
  const typed = form.get("address");
  if (typed !== undefined) return readNewcomer(at, form, typed.trim().slice(0, 254));
  const newcomer = newcomerOf(flow);
  const { mailed } = flow.marks;
  if (newcomer === undefined || mailed?.purpose !== "sign-up" || form.get("other") !== undefined) {
    return { kind: "go to", step: "sign-up", marks: { mailed: undefined } };
  }
  if (form.get("again") !== undefined) return sendCode(at, newcomer);
  return judge(at, newcomer, mailed, form.get("code") ?? "");
}

async function readNewcomer(at: StepRequest, form: Form, typed: string): Promise<StepResult> {
  const marks = { typedName: form.get("name")?.slice(0, 2 * longestName) };
  const again = (method: string): StepResult => {
    return { kind: "again", problem: { kind: "refused", method }, typed, marks };
  };
  if (!isSignUpOpen(at.context)) return again("closed");
  const name = readName(form.get("name"));
  if (name === undefined) return again("name");
  const address = parseEmailAddress(typed);
  if (address === undefined) return again("invalidAddress");
  if (!isDomainAllowed(at.context, address)) return again("domain");
  return (await leaveByDomain(at, form, { typed })) ?? sendCode(at, { name, address });
}

async function sendCode(at: StepRequest, { name, address }: Newcomer): Promise<StepResult> {
  const { context, browser, flow } = at;
  const { language } = stepFrame(at).t;
  const requested = await requestCode(at, { browser, id: flow.fid }, { purpose: "sign-up", address, language });
  if (requested.kind === "throttled") {
    const untilMs = context.arrivedAtMs + requested.seconds * 1000;
    const problem = { kind: "throttled", untilMs } as const;
    return { kind: "again", problem, typed: address.address, marks: { typedName: name } };
  }
  const marks = { newcomer: { name, address }, mailed: requested.mailed, hasAccount: false, typedName: undefined };
  return { kind: "go to", step: "sign-up", marks };
}

async function judge(at: StepRequest, newcomer: Newcomer, mailed: MailedCode, typed: string): Promise<StepResult> {
  const { context, browser, flow } = at;
  const { name, address } = newcomer;
  const attempt = await tryCode(at, { browser, id: flow.fid }, mailed, typed);
  if (attempt.kind !== "right") return { kind: "again", problem: { kind: "refused", method: attempt.kind } };
  // The address of the code, not of another page of the flow.
  if (attempt.address.key !== address.key) return { kind: "again", problem: { kind: "refused", method: "over" } };
  if (await isIdentifierTaken(context.env.DB, address.key, context.arrivedAtMs)) return taken;
  const proven = { name, address, sub: `u${randomBase64Url(16)}` };
  return { kind: "done", marks: { newcomer: proven, mailed: undefined }, cookies: [attempt.cookie] };
}
