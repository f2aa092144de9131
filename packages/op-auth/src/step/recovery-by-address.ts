import { isAdminScope } from "@edge-op/protocol/oauth/scope";
import type { Factors } from "@edge-op/shared/users/factors";
import { hasStrictMembership } from "@edge-op/shared/users/organizations";
import type { PageRequest } from "../pages/frame.ts";
import { findRecovery } from "../session/address-recovery.ts";
import type { Flow } from "./flow.ts";
import { isRecoveryAllowed, recoveryFactor, recoveryProof } from "./second-factor.ts";
import type { OfferedRecovery, Policy } from "./step.ts";

/**
 * **The recovery by mail alone of a person who has proven a mailbox** and has nothing else that would be needed; `undefined` if there is none for
 * them: the deployment does not offer it, something needs two factors, or they have a role or an organisation that does, or a permission that only
 * two factors use. Cost: 0; 2 D1 calls where it is offered, beside each other.
 */
export async function findOfferedRecovery(
  { context, isolate }: PageRequest,
  flow: Pick<Flow, "proofs">,
  policy: Policy,
  factors: Factors | undefined,
): Promise<OfferedRecovery | undefined> {
  const proof = recoveryProof(flow);
  if (proof?.method !== "mailedCode" || !isRecoveryAllowed(policy)) return undefined;
  if (recoveryFactor({ flow, facts: { factors } }) === "none") return undefined;
  const [{ roles, permissions }, recovery, isStrict] = await Promise.all([
    isolate.users.findRbacClaims(context, proof.sub),
    findRecovery(context.env.DB, proof.sub),
    hasStrictMembership(context.env.DB, proof.sub),
  ]);
  const needsTwo = isStrict || policy.mfaRoles.some((role) => roles.includes(role)) || permissions.some(isAdminScope);
  return needsTwo ? undefined : { recovery };
}
