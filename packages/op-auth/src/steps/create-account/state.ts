import { provenNewcomerOf } from "../../step/flow.ts";
import type { StepInput, StepState } from "../../step/step.ts";

/** **Whether a person with a proven address has no account yet.** */
export function createAccountState({ flow }: StepInput): StepState {
  return provenNewcomerOf(flow) === undefined ? { kind: "done" } : { kind: "needed", error: "login_required" };
}
