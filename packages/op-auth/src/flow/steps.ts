import type { Step } from "../step/step.ts";
import { confirmBrowserStep } from "../steps/confirm-browser/confirm-browser-step.ts";
import { consentStep } from "../steps/consent/consent-step.ts";
import { createAccountStep } from "../steps/create-account/create-account-step.ts";
import { enrolStep } from "../steps/enrol/enrol-step.ts";
import { linkStep } from "../steps/link/link-step.ts";
import { proveMoreStep } from "../steps/prove-more/prove-more-step.ts";
import { recoverStep } from "../steps/recover/recover-step.ts";
import { recoveryCodesStep } from "../steps/recovery-codes/recovery-codes-step.ts";
import { restoreStep } from "../steps/restore/restore-step.ts";
import { selectAccountStep } from "../steps/select-account/select-account-step.ts";
import { setPasswordStep } from "../steps/set-password/set-password-step.ts";
import { signInStep } from "../steps/sign-in/sign-in-step.ts";
import { signUpStep } from "../steps/sign-up/sign-up-step.ts";

/** **The steps of a flow, in their order.** The first that is needed is shown. */
export const steps: readonly Step[] = [
  signUpStep,
  createAccountStep,
  signInStep,
  recoverStep,
  proveMoreStep,
  confirmBrowserStep,
  setPasswordStep,
  restoreStep,
  enrolStep,
  recoveryCodesStep,
  linkStep,
  selectAccountStep,
  consentStep,
];
