import type { Form } from "@edge-op/shared/http/read-form";
import { rememberDevice } from "../../factors/remembered-device.ts";
import { verifyCode } from "../../factors/verify-code.ts";
import type { StepRequest, StepResult } from "../../step/step.ts";
import { findAllowed, findSubject } from "../../step/step-request.ts";
import { verifyPasskeySignIn } from "../sign-in/passkey/verify-passkey-sign-in.ts";
import { offeredDays } from "./offered-days.ts";

/**
 * **A posted second factor** of the person who has proven something before: nobody is named here, so a code alone reaches no account. Cost: that of
 * verify-code.ts or of a passkey; before them, 1 object call for a person who has proven nothing in this flow.
 */
export async function submitProveMore(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  if (form.get("account") === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  const { context, isolate, request, browser } = at;
  const user = await findSubject(at);
  if (user === undefined) return { kind: "go to", step: "sign-in" };
  const { sub } = user;
  // As in a sign-in: before the factor is read (ADR 28).
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const isPasskey = form.get("credential") !== undefined;
  const verify = isPasskey ? verifyPasskeySignIn(at, form) : verifyCode(at, browser, sub, form.get("code") ?? "");
  const [result, allowed] = await Promise.all([verify, findAllowed(at, sub), at.person()]);
  if (result.kind === "throttled") {
    return { kind: "again", problem: { kind: "throttled", untilMs: context.arrivedAtMs + result.seconds * 1000 } };
  }
  if (result.kind === "refused" || result.proof.sub !== sub) {
    return { kind: "again", problem: { kind: "refused", method: isPasskey ? "passkey" : "code" } };
  }
  const { proof, cookies } = result;
  const proofs = [{ ...proof, atMs: context.arrivedAtMs, controlVersion }];
  if (result.kind === "signed in") return { ...result, kind: "done", proofs };
  const owner = { sub, epoch: result.epoch };
  const isRemembering = form.get("remember") !== undefined && offeredDays(at) > 0;
  const device = isRemembering ? await rememberDevice(context, request, browser, owner) : undefined;
  // The id of its set is the credential of a recovery code.
  const marks =
    proof.method === "recoveryCode" ? { newCodes: { sub, replaced: proof.credential ?? "" } } : { newCodes: undefined };
  return { kind: "done", proofs, allowed, marks, cookies: device === undefined ? cookies : [...cookies, device] };
}
