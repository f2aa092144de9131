import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { Form } from "@edge-op/shared/http/read-form";
import { isAddressTaken } from "@edge-op/shared/users/user-addresses";
import { tryCode } from "../../mailed-codes/mailed-codes.ts";
import { taken } from "../../sign-up/account-exists.tsx";
import { newcomerOf } from "../newcomer.ts";
import { sendSignUpCode } from "../../sign-up/send-code.ts";
import type { StepRequest, StepResult } from "../step.ts";

/**
 * **A posted code.** Only who has entered the code of a mail to the address learns whether it has an account. Cost: 1 object call, then 1 D1 call; another code
 * 1 object call.
 */
export async function submitSignUpCode(at: StepRequest, form: Form): Promise<StepResult> {
  const { context, browser, flow } = at;
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const newcomer = newcomerOf(flow);
  const { mailed } = flow.marks;
  if (form.get("again") === "address" || newcomer === undefined || mailed?.purpose !== "sign-up") {
    return { kind: "go to", step: "sign-up" };
  }
  const { name, address } = newcomer;
  if (form.get("again") === "code") {
    const sent = await sendSignUpCode(at, { name, address });
    return sent.kind === "done" ? { kind: "go to", step: "sign-up-code", marks: sent.marks } : sent;
  }
  const attempt = await tryCode(at, { browser, id: flow.fid }, mailed, form.get("code") ?? "");
  if (attempt.kind !== "right") return { kind: "again", problem: { kind: "refused", method: attempt.kind } };
  if (await isAddressTaken(context.env.DB, "", [address.key], context.arrivedAtMs)) {
    return { ...taken, marks: { mailed: undefined } };
  }
  const proven = { name, address, sub: `u${randomBase64Url(16)}` };
  return { kind: "done", marks: { newcomer: proven, mailed: undefined }, cookies: [attempt.cookie] };
}
