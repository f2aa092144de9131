import { neededFactor, recoveryFactor } from "../../step/second-factor.ts";
import type { StepInput, StepState } from "../../step/step.ts";

/** **Whether a person must prove a second factor**, after their password or before they set a new one. @see https://www.rfc-editor.org/rfc/rfc9470#section-4 */
export function proveMoreState(input: StepInput): StepState {
  const isNeeded = recoveryFactor(input.flow, input.facts.factors) !== "none" || neededFactor(input) === "prove";
  return isNeeded ? { kind: "needed", error: "login_required" } : { kind: "done" };
}
