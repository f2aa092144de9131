import type { Form } from "@edge-op/shared/http/read-form";
import { passwordMethod } from "../passwords/password-method.tsx";
import { readUsername } from "../passwords/verify-password-sign-in.ts";
import type { Step, StepRequest, StepResult } from "../step/step.ts";
import { continueByName } from "./identifier-first.ts";
import { methodOf, methodsFor, signInMethods } from "./methods.ts";
import { showSignIn } from "./show-sign-in.tsx";
import { signInState } from "./sign-in-state.ts";

/** **Sign-in**: the person names themselves and proves it by one of the methods. */
export const signInStep: Step = {
  name: "sign-in",
  methods: signInMethods.flatMap(({ proofMethods }) => proofMethods),
  isForPerson: false,
  writes: false,
  state: signInState,
  page: showSignIn,
  submit: submitSignIn,
};

/**
 * **A posted sign-in**, verified by the method that the form belongs to. Cost: that of the method; in parallel, 1 object call with a session cookie.
 */
async function submitSignIn(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  if (form.get("account") === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  const typed = form.get("username") === undefined ? undefined : readUsername(form).slice(0, 256);
  if (form.get("recover") !== undefined) return { kind: "go to", step: "recover", marks: { mailed: undefined }, typed };
  if (form.get("sign-up") !== undefined) {
    return { kind: "go to", step: "sign-up", marks: { mailed: undefined, newcomer: undefined }, typed };
  }
  if (form.get("rename") !== undefined) return { kind: "go to", step: "sign-in", marks: { named: false }, typed };
  const method = methodOf(form);
  if (method === undefined) return { kind: "go to", step: "sign-in", typed };
  const again = { kind: "again", typed } as const;
  if (!methodsFor(at.policy.requiredAcr).includes(method)) return { ...again, problem: { kind: "not allowed" } };
  if (method === passwordMethod && form.get("ask") !== undefined) return continueByName(at, typed ?? "");
  const { context, isolate } = at;
  // Before the credentials are read: a change after this version ends the session (ADR 28).
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const [result] = await Promise.all([method.verify(at, form), at.person()]);
  if (result.kind === "leave" || result.kind === "again") return result;
  if (result.kind === "throttled") {
    return { ...again, problem: { kind: "throttled", untilMs: context.arrivedAtMs + result.seconds * 1000 } };
  }
  if (result.kind === "suspended") return { ...again, problem: { kind: "suspended" } };
  if (result.kind === "refused") {
    const { unknownCredential } = result;
    return { ...again, problem: { kind: "refused", method: method.name, unknownCredential } };
  }
  const { proof, ...others } = result;
  return { ...others, kind: "done", proofs: [{ ...proof, atMs: context.arrivedAtMs, controlVersion }] };
}
