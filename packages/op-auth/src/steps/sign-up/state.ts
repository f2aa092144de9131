import { newcomerOf } from "../../step/flow.ts";
import type { StepInput, StepState } from "../../step/step.ts";

/**
 * **Whether a person signs up**: the client asks for it, and they have not said that they have an account; or they have begun, and have not proven their
 * address. Anyone else gets here from the sign-in page.
 *
 * @see https://openid.net/specs/openid-connect-prompt-create-1_0.html#section-4.1
 */
export function signUpState({ flow, policy }: StepInput): StepState {
  const newcomer = newcomerOf(flow);
  const isAsked = policy.prompt.includes("create") && flow.proofs.length === 0 && flow.marks.hasAccount !== true;
  const isNeeded = newcomer === undefined ? isAsked : newcomer.sub === undefined;
  return isNeeded ? { kind: "needed", error: "login_required" } : { kind: "done" };
}
