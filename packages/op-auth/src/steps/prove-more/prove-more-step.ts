import { codeMethods, passkeyMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Step } from "../../step/step.ts";
import { showProveMore } from "./page.tsx";
import { proveMoreState } from "./state.ts";
import { submitProveMore } from "./submit.ts";

/** **The second factor** of a person who has proven their password: a code of an app, a recovery code, or a passkey. */
export const proveMoreStep: Step = {
  name: "prove-more",
  methods: [...codeMethods, ...passkeyMethods],
  isForPerson: false,
  writes: false,
  state: proveMoreState,
  page: showProveMore,
  submit: submitProveMore,
};
