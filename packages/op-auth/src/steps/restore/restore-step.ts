import type { Step } from "../../step/step.ts";
import { showRestore } from "./page.tsx";
import { restoreState } from "./state.ts";
import { submitRestore } from "./submit.ts";

/** **Keeping an account** that its person has asked to delete. Nobody is signed in before. */
export const restoreStep: Step = {
  name: "restore",
  methods: [],
  isForPerson: false,
  writes: true,
  state: restoreState,
  page: showRestore,
  submit: submitRestore,
};
