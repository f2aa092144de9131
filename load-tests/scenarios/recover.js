import { actionOf } from "../lib/k6-visitor.ts";
import { recover } from "../lib/people.ts";
import { defineScenario } from "../lib/scenario.ts";

// From the sign-in page to a new password: an address, the code that was mailed to it.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("recover", (attempt) =>
  recover(actionOf(attempt)),
);
