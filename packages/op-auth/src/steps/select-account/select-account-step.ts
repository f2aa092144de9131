import type { Step } from "../../step/step.ts";
import { showSelectAccount } from "./page.tsx";
import { selectAccountState } from "./state.ts";
import { submitSelectAccount } from "./submit.ts";

/** **Account selection**, for `prompt=select_account`. */
export const selectAccountStep: Step = {
  name: "select-account",
  methods: [],
  isForPerson: true,
  writes: false,
  state: selectAccountState,
  page: showSelectAccount,
  submit: submitSelectAccount,
};
