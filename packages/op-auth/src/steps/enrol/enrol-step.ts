import type { Step } from "../../step/step.ts";
import { showEnrol } from "./page.tsx";
import { enrolState } from "./state.ts";
import { submitEnrol } from "./submit.ts";

/** **Setting up an authenticator app**, by a person who needs a second factor and has none. Its first code is the proof. */
export const enrolStep: Step = {
  name: "enrol",
  methods: ["totp"],
  isForPerson: false,
  writes: true,
  state: enrolState,
  page: showEnrol,
  submit: submitEnrol,
};
