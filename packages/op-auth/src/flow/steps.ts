import { restOnConnection } from "@edge-op/shared/sessions/usable-proofs";
import { awaitRecoveryStep } from "../addresses/await-recovery-step.tsx";
import { confirmBrowserStep } from "../addresses/confirm-browser-step.tsx";
import { recoverStep } from "../addresses/recover-step.tsx";
import { consentStep } from "../consent/consent-step.ts";
import { enrolStep } from "../factors/enrol-step.tsx";
import { proveMoreStep } from "../factors/prove-more-step.ts";
import { recoveryCodesStep } from "../factors/recovery-codes-step.tsx";
import { setPasswordStep } from "../passwords/set-password-step.tsx";
import { notMember, organizationStep } from "../sign-in/choose-organization-step.tsx";
import { createAccountStep } from "../sign-in/create-account-step.ts";
import { restoreStep } from "../sign-in/restore-step.tsx";
import { selectAccountStep } from "../sign-in/select-account-step.tsx";
import { signInStep } from "../sign-in/sign-in-step.ts";
import { signUpStep } from "../sign-in/sign-up-step.ts";
import type { Choice, Refusal, Step, StepInput } from "../step/step.ts";
import { termsStep } from "../terms/terms-step.tsx";
import { linkStep } from "../upstream/link-step.tsx";

/** **The steps of a flow, in their order.** The first that is needed is shown. */
export const steps: readonly Step[] = [
  signUpStep,
  createAccountStep,
  selectAccountStep,
  signInStep,
  recoverStep,
  awaitRecoveryStep,
  proveMoreStep,
  confirmBrowserStep,
  setPasswordStep,
  restoreStep,
  enrolStep,
  recoveryCodesStep,
  linkStep,
  termsStep,
  organizationStep,
  consentStep,
];

export type NextStep = { readonly kind: "page"; readonly step: Step } | { readonly kind: "finish" } | Choice | Refusal;

/** **What comes next in a flow**: the first step that is needed, or its end. Pure. With `prompt=none`, a page is a refusal. */
export function nextStep(
  flow: StepInput["flow"],
  facts: StepInput["facts"],
  policy: StepInput["policy"],
  nowMs: number,
): NextStep {
  for (const step of steps) {
    // Who is no member learns it when they have proven who they are, and before they are asked to allow anything.
    if (step === consentStep && facts.isMember === false) return notMember;
    const state = step.state({ flow, facts, policy, nowMs });
    if (state.kind === "refuse" || state.kind === "choose") return state;
    if (state.kind === "done") continue;
    // O3: what is written about a person needs a proof of their own, or of a provider of the deployment. A consent is the organisation's.
    const isOfPerson = step.writes && step !== consentStep;
    if (isOfPerson && restOnConnection(facts.person?.proofs ?? [])) return ownProof(policy);
    if (policy.prompt.includes("none")) return { kind: "refuse", code: state.error, reason: "prompt-none" };
    return { kind: "page", step };
  }
  return { kind: "finish" };
}

function ownProof({ prompt }: StepInput["policy"]): NextStep {
  if (prompt.includes("none")) return { kind: "refuse", code: "login_required", reason: "prompt-none" };
  return { kind: "page", step: signInStep };
}
