import { isProvenIn } from "../../step/flow.ts";
import type { StepInput, StepState } from "../../step/step.ts";

/** **Whether a person is asked to connect an identity elsewhere**: they have proven the account that it waits for, in this flow. */
export function linkState({ flow, facts: { person } }: StepInput): StepState {
  const { link } = flow.marks;
  const isTheirs = link !== undefined && link.sub === person?.sub && isProvenIn(flow, link.sub);
  return isTheirs ? { kind: "needed", error: "login_required" } : { kind: "done" };
}
