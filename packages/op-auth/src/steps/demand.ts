import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import type { Demand } from "../step/flow.ts";
import type { Policy } from "../step/step.ts";

/** The `acr` values that a passkey has or satisfies. */
const passkeyAcr: readonly string[] = ["phr", "mfa"];

/**
 * **A policy with a demand of the hook added to it**: it never allows what the policy does not. Pure. A demand travels in the flow; a page from before it
 * leads to the hook again. A passkey cannot be added where the request requires an `acr` that passkeys do not have: see {@link isDemandPossible}.
 */
export function withDemand(policy: Policy, demand: Demand | undefined): Policy {
  if (demand === "mfa") return { ...policy, secondFactor: "always" };
  if (demand === "phr" && isDemandPossible(policy, demand)) return { ...policy, requiredAcr: ["phr"] };
  return policy;
}

export function isDemandPossible({ requiredAcr }: Pick<Policy, "requiredAcr">, demand: Demand): boolean {
  return demand === "mfa" || requiredAcr === undefined || requiredAcr.some((acr) => passkeyAcr.includes(acr));
}

/** Whether proofs that are not older than `sinceMs` are what a demand asks for. */
export function isDemandMet(proofs: readonly Proof[], demand: Demand, sinceMs: number): boolean {
  return findAuthentication(proofs, [demand], sinceMs) !== undefined;
}
