import type { Step } from "../step.ts";
import { showSignUpCode } from "./page.tsx";
import { signUpCodeState } from "./state.ts";
import { submitSignUpCode } from "./submit.ts";

/** **The code that proves a newcomer's address.** */
export const signUpCodeStep: Step = {
  name: "sign-up-code",
  methods: [],
  isForPerson: false,
  state: signUpCodeState,
  page: showSignUpCode,
  submit: submitSignUpCode,
};
