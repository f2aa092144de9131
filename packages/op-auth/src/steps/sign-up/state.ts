import type { StepInput, StepState } from "../step.ts";

/**
 * **Whether a flow begins with signing up**: the client asks for it, and the person has not said that they have an account. Anyone else gets there by a
 * link of the sign-in page.
 *
 * @see https://openid.net/specs/openid-connect-prompt-create-1_0.html#section-4.1
 */
export function signUpState({ flow, policy }: StepInput): StepState {
  const { hasAccount, newcomer } = flow.marks;
  const isAsked = policy.prompt.includes("create") && flow.proofs.length === 0;
  if (!isAsked || hasAccount || newcomer !== undefined) return { kind: "done" };
  return { kind: "needed", error: "interaction_required" };
}
