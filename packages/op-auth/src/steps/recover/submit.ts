import type { Form } from "@edge-op/shared/http/read-form";
import { parseEmailAddress } from "@edge-op/shared/users/email-address";
import { requestCode, tryCode } from "../../mailed-codes/mailed-code.ts";
import { leaveByDomain } from "../../upstream/discovery.ts";
import type { MailedCode } from "../flow.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { stepFrame } from "../step-frame.ts";
import { findByAddress } from "./find-by-address.ts";

/**
 * **A posted address, or a posted code.** Of an address nothing is looked up, so that an address without an account, a suspended account and every other one
 * have the same response after the same calls. Cost: 1 object call for an address or a wrong code; for the right code 1 D1 call after it, and 1 object call beside these with a
 * session cookie.
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
  const { context, isolate, browser, flow } = at;
  // As in a sign-in: before the account is read (ADR 28).
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const [attempt] = await Promise.all([tryCode(at, { browser, id: flow.fid }, mailed, typed), at.person()]);
  if (attempt.kind !== "right") return { kind: "again", problem: { kind: "refused", method: attempt.kind } };
  const { key } = attempt.address;
  const found = await findByAddress(context.env.DB, key);
  // Suspended, or without this address, since the mail was sent.
  if (found === undefined) return { kind: "again", problem: { kind: "refused", method: "over" } };
  const proof = {
    method: "mailedCode",
    sub: found.sub,
    credential: key,
    atMs: context.arrivedAtMs,
    controlVersion,
  } as const;
  return {
    kind: "done",
    proofs: [proof],
    marks: { mailed: undefined },
    cookies: [attempt.cookie],
    factors: found.factors,
    isActive: found.isActive,
    allowed: undefined,
  };
}
