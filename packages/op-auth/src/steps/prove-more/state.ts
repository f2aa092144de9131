import { neededFactor } from "../second-factor.ts";
import type { StepInput, StepState } from "../step.ts";

/** **Whether a person must prove a second factor.** @see https://www.rfc-editor.org/rfc/rfc9470#section-4 */
export function proveMoreState(input: StepInput): StepState {
  return neededFactor(input) === "prove" ? { kind: "needed", error: "login_required" } : { kind: "done" };
}
