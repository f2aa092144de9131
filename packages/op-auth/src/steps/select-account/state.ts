import { isProvenIn } from "../../step/flow.ts";
import type { StepInput, StepState } from "../../step/step.ts";

/** **Whether a person must select an account**: with `prompt=select_account`, unless they have signed in in this flow. */
export function selectAccountState({ flow, facts: { person }, policy }: StepInput): StepState {
  if (!policy.prompt.includes("select_account")) return { kind: "done" };
  const isFresh = person !== undefined && isProvenIn(flow, person.sub);
  if (flow.marks.accountSelected || isFresh) return { kind: "done" };
  return { kind: "needed", error: "account_selection_required" };
}
