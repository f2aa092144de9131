import { actionOf } from "../lib/k6-visitor.ts";
import { signIn } from "../lib/people.ts";
import { defineScenario } from "../lib/scenario.ts";

// Authorize → sign-in page → password → back to authorize → code → token, as a browser and its application do it.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("login", (attempt) =>
  signIn(actionOf(attempt)),
);
