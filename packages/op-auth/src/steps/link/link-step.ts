import type { Step } from "../../step/step.ts";
import { showLink } from "./page.tsx";
import { linkState } from "./state.ts";
import { submitLink } from "./submit.ts";

/** **Connecting an identity at an upstream provider** with the account that its person has proven. */
export const linkStep: Step = {
  name: "link",
  methods: [],
  isForPerson: false,
  writes: true,
  state: linkState,
  page: showLink,
  submit: submitLink,
};
