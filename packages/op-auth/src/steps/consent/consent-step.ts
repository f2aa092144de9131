import type { Step } from "../../step/step.ts";
import { showConsent } from "./page.tsx";
import { consentState } from "./state.ts";
import { submitConsent } from "./submit.ts";

/** **Consent**: the person decides what the client may do. */
export const consentStep: Step = {
  name: "consent",
  methods: [],
  isForPerson: true,
  writes: true,
  state: consentState,
  page: showConsent,
  submit: submitConsent,
};
