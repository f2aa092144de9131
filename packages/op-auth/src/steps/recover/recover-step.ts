import type { Step } from "../../step/step.ts";
import { showRecover } from "./page.tsx";
import { submitRecover } from "./submit.ts";

/**
 * **The first step to a new password**: an address, then the code that was mailed to it. A person chooses it on the sign-in page. Its proof signs nobody in:
 * the steps after it ask for a second factor, if the account has one, and for the new password.
 */
export const recoverStep: Step = {
  name: "recover",
  methods: ["mailedCode"],
  isForPerson: false,
  writes: false,
  state: () => ({ kind: "done" }),
  page: showRecover,
  submit: submitRecover,
};
