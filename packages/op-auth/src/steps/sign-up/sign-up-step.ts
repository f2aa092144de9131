import type { Step } from "../../step/step.ts";
import { showSignUp } from "./page.tsx";
import { signUpState } from "./state.ts";
import { submitSignUp } from "./submit.ts";

/** **Signing up**: a person names themselves and the address to which a code is sent. */
export const signUpStep: Step = {
  name: "sign-up",
  methods: [],
  isForPerson: false,
  writes: false,
  state: signUpState,
  page: showSignUp,
  submit: submitSignUp,
};
