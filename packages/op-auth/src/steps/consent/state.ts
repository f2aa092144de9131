import { isAllowed } from "../../consent/requested-allowances.ts";
import { isProvenIn } from "../../step/flow.ts";
import type { StepInput, StepState } from "../../step/step.ts";

/**
 * **Whether the person must consent**: the client requests more than they have allowed, or its identity or the request needs a decision each time
 * (the policy's consent rule).
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#Consent
 */
export function consentState({ flow, facts: { person, allowed }, policy }: StepInput): StepState {
  if (person === undefined || flow.marks.consentedBy === person.sub) return { kind: "done" };
  const isGiven = {
    never: true,
    "unless just signed in": isProvenIn(flow, person.sub),
    remembered: isAllowed(allowed, policy.asked),
    "each time": false,
  }[policy.consent];
  return isGiven ? { kind: "done" } : { kind: "needed", error: "consent_required" };
}
