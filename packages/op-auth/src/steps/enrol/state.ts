import { neededFactor } from "../../step/second-factor.ts";
import type { StepInput, StepState } from "../../step/step.ts";

/** **Whether a person must set up a second factor.** */
export function enrolState(input: StepInput): StepState {
  return neededFactor(input) === "set up" ? { kind: "needed", error: "login_required" } : { kind: "done" };
}
