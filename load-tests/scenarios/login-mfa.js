import { actionOf } from "../lib/k6-visitor.ts";
import { signInWithApp } from "../lib/people.ts";
import { defineScenario } from "../lib/scenario.ts";

// Password, then the code of an authenticator app.
export const { options, setup, measured, warmUp, handleSummary } = defineScenario("login-mfa", (attempt) =>
  signInWithApp(actionOf(attempt)),
);
