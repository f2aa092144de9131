import { isRecovering } from "../../step/second-factor.ts";
import type { Step } from "../../step/step.ts";
import { showSetPassword } from "./page.tsx";
import { keptMethods, submitSetPassword } from "./submit.ts";

/**
 * **The new password** of a person who has proven their mailbox, or typed a temporary password, and, if the account has one, a second factor. It ends everything that rests on the previous
 * one, so the proofs of the flow are made anew at the version of the change; a temporary password is not among them.
 */
export const setPasswordStep: Step = {
  name: "set-password",
  methods: ["password", ...keptMethods],
  isForPerson: false,
  writes: true,
  state: ({ flow }) => (isRecovering(flow) ? { kind: "needed", error: "login_required" } : { kind: "done" }),
  page: showSetPassword,
  submit: submitSetPassword,
};
