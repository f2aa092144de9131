import { codeMethods, passkeyMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import type { User } from "@edge-op/shared/users/user";
import { verifiedAddress } from "@edge-op/shared/users/user-addresses";
import { isRecovering, neededFactor, recoveryFactor } from "../step/second-factor.ts";
import type { Step, StepInput, StepRequest, StepResult, StepState } from "../step/step.ts";
import { findAllowed, findSubject } from "../step/step-request.ts";
import { codeFieldLength } from "./app-setup.tsx";
import { showProveMore } from "./prove-more-page.tsx";
import { readRecoveryCode } from "./recovery-codes.ts";
import { offeredDays, rememberDevice } from "./remembered-device.ts";
import { verifyCode } from "./verify-code.ts";
import { verifyPasskeySignIn } from "./verify-passkey-sign-in.ts";

/** **The second factor** of a person who has proven their password: a code of an app, a recovery code, or a passkey. */
export const proveMoreStep: Step = {
  name: "prove-more",
  methods: [...codeMethods, ...passkeyMethods],
  isForPerson: false,
  writes: false,
  state: proveMoreState,
  page: showProveMore,
  submit: submitProveMore,
};

/**
 * **Whether a person must prove a second factor**, after their password or before they set a new one. @see
 * https://www.rfc-editor.org/rfc/rfc9470#section-4
 */
function proveMoreState(input: StepInput): StepState {
  const isNeeded = recoveryFactor(input) !== "none" || neededFactor(input) === "prove";
  return isNeeded ? { kind: "needed", error: "login_required" } : { kind: "done" };
}

/** Who has not proven a mailbox yet does that first. What may be done then, await-recovery decides. */
function loseAll({ flow }: StepRequest, { sub, claims }: User): StepResult {
  if (isRecovering(flow)) return { kind: "done", marks: { lostAll: sub } };
  return { kind: "go to", step: "recover", marks: { mailed: undefined }, typed: verifiedAddress(claims)?.address };
}

/**
 * **A posted second factor** of the person who has proven something before: nobody is named here, so a code alone reaches no account. Cost: that of
 * verify-code.ts or of a passkey; before them, 1 object call for a person who has proven nothing in this flow.
 */
async function submitProveMore(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  if (form.get("account") === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  const { context, isolate, request, browser } = at;
  const user = await findSubject(at);
  if (user === undefined) return { kind: "go to", step: "sign-in" };
  if (form.get("lost") === "all") return loseAll(at, user);
  const { sub } = user;
  // As in a sign-in: before the factor is read (ADR 28).
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const isPasskey = form.get("credential") !== undefined;
  const code = form.get("code") ?? "";
  const verify = isPasskey ? verifyPasskeySignIn(at, form) : verifyCode(at, browser, sub, code);
  const [result, allowed] = await Promise.all([verify, findAllowed(at, sub), at.person()]);
  // A recovery code is long: its page keeps what was typed, in the field to which it belongs.
  const isOfPaper = form.get("field") === "recovery" || readRecoveryCode(code) !== undefined;
  const typed = isOfPaper ? code.slice(0, codeFieldLength) : undefined;
  if (result.kind === "throttled") {
    const untilMs = context.arrivedAtMs + result.seconds * 1000;
    return { kind: "again", problem: { kind: "throttled", untilMs, typed } };
  }
  if (result.kind === "refused" || result.kind === "suspended" || result.proof.sub !== sub) {
    const fault = "fault" in result ? result.fault : "wrong";
    const method = isPasskey ? "passkey" : isOfPaper && fault === "wrong" ? "recoveryCode" : fault;
    return { kind: "again", problem: { kind: "refused", method, typed } };
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
