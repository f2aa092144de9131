import { actionOf } from "../lib/k6-visitor.ts";
import { signUp } from "../lib/people.ts";
import { defineScenario } from "../lib/scenario.ts";

// From the sign-in page to a new account: an address, the code that was mailed to it, a password.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("signup", (attempt) =>
  signUp(actionOf(attempt)),
);
