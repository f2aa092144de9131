import { newcomerOf } from "../newcomer.ts";
import type { StepInput, StepState } from "../step.ts";

/** **Whether a newcomer has not proven their address.** */
export function signUpCodeState({ flow }: StepInput): StepState {
  const newcomer = newcomerOf(flow);
  const isProven = newcomer === undefined || newcomer.sub !== undefined;
  return isProven ? { kind: "done" } : { kind: "needed", error: "interaction_required" };
}
