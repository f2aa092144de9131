import type { StepInput, StepState } from "../../step/step.ts";

/** **Whether a person is shown new recovery codes.** */
export function recoveryCodesState({ flow, facts: { person } }: StepInput): StepState {
  const { newCodes } = flow.marks;
  const isDue = person !== undefined && newCodes?.sub === person.sub;
  return isDue ? { kind: "needed", error: "login_required" } : { kind: "done" };
}
