import { passkeyMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Step } from "../../step/step.ts";
import { showCreateAccount } from "./page.tsx";
import { createAccountState } from "./state.ts";
import { submitCreateAccount } from "./submit.ts";

/** **The end of signing up**: a person who has proven their address chooses how to sign in, and gets an account by it. */
export const createAccountStep: Step = {
  name: "create-account",
  methods: ["password", ...passkeyMethods, "mailedCode"],
  isForPerson: false,
  writes: true,
  state: createAccountState,
  page: showCreateAccount,
  submit: submitCreateAccount,
};
