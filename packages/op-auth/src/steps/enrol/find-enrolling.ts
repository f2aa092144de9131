import { findFactors, hasSecondFactor } from "@edge-op/shared/users/factors";
import type { User } from "@edge-op/shared/users/user";
import { pendingProofs } from "../flow.ts";
import { hasFreshProof } from "../second-factor.ts";
import type { StepRequest } from "../step.ts";
import { findSubject } from "../subject.ts";

/**
 * **The person who may set up a first second factor**: their password was proven within ten minutes, and they have no second factor. Without this check,
 * a thief of the password could open this page in place of the one that asks for the second factor. Cost: 1 D1 call.
 */
export async function findEnrolling(at: StepRequest): Promise<User | undefined> {
  const user = await findSubject(at);
  if (user === undefined) return undefined;
  const pending = pendingProofs(at.flow);
  const proofs = pending.length > 0 ? pending : ((await at.person())?.session.proofs ?? []);
  const factors = await findFactors(at.context.env.DB, user.sub);
  const mayEnrol = factors !== undefined && !hasSecondFactor(factors) && hasFreshProof(proofs, at.context.arrivedAtMs);
  return mayEnrol ? user : undefined;
}
