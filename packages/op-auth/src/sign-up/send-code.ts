import { requestCode } from "../mailed-codes/mailed-codes.ts";
import { frameOf } from "../pages/frame.ts";
import type { Marks } from "../steps/flow.ts";
import type { StepRequest, StepResult } from "../steps/step.ts";
import type { Newcomer } from "../steps/flow.ts";

type Sent = { readonly kind: "done"; readonly marks: Marks } | Extract<StepResult, { kind: "again" }>;

/** **Mails a code to the address of a newcomer**, and notes both. Cost: 1 object call. */
export async function sendSignUpCode(
  at: StepRequest,
  newcomer: Pick<Newcomer, "name" | "address">,
): Promise<Sent> {
  const { context, request, authorization, browser, flow } = at;
  const { language } = frameOf(context, request, authorization?.request.uiLocales).t;
  const { name, address } = newcomer;
  const result = await requestCode(at, { browser, id: flow.fid }, { purpose: "sign-up", address, language });
  if (result.kind === "throttled") {
    const untilMs = context.arrivedAtMs + result.seconds * 1000;
    return { kind: "again", problem: { kind: "throttled", untilMs }, typed: address.address, marks: { typedName: name } };
  }
  const marks = { newcomer: { name, address }, mailed: result.mailed, hasAccount: false, typedName: undefined };
  return { kind: "done", marks };
}
