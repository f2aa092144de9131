import type { Step } from "../../step/step.ts";
import { signInMethods } from "./methods.ts";
import { showSignIn } from "./page.tsx";
import { signInState } from "./state.ts";
import { submitSignIn } from "./submit.ts";

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
