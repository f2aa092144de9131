import type { Refusal, Step, StepInput } from "../step/step.ts";
import { steps } from "./steps.ts";

export type NextStep = { readonly kind: "page"; readonly step: Step } | { readonly kind: "finish" } | Refusal;

/** **What comes next in a flow**: the first step that is needed, or its end. Pure. With `prompt=none`, a page is a refusal. */
export function nextStep(
  flow: StepInput["flow"],
  facts: StepInput["facts"],
  policy: StepInput["policy"],
  nowMs: number,
): NextStep {
  for (const step of steps) {
    const state = step.state({ flow, facts, policy, nowMs });
    if (state.kind === "refuse") return state;
    if (state.kind === "done") continue;
    if (policy.prompt.includes("none")) return { kind: "refuse", code: state.error, reason: "prompt-none" };
    return { kind: "page", step };
  }
  return { kind: "finish" };
}
