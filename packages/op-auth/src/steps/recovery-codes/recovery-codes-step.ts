import type { Step } from "../../step/step.ts";
import { showRecoveryCodes } from "./page.tsx";
import { recoveryCodesState } from "./state.ts";
import { submitRecoveryCodes } from "./submit.ts";

/**
 * **New recovery codes**, for a person who has just set up their first app or used a recovery code (NIST SP 800-63B-4 §4.2.1.1: a used code is replaced). The
 * person may decide to keep what they have.
 */
export const recoveryCodesStep: Step = {
  name: "recovery-codes",
  methods: [],
  isForPerson: true,
  writes: true,
  state: recoveryCodesState,
  page: showRecoveryCodes,
  submit: submitRecoveryCodes,
};
