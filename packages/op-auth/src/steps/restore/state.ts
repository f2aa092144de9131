import type { StepInput, StepState } from "../../step/step.ts";

/** **Whether the person has asked to delete their account.** */
export function restoreState({ facts: { person } }: StepInput): StepState {
  return person?.isLeaving ? { kind: "needed", error: "login_required" } : { kind: "done" };
}
