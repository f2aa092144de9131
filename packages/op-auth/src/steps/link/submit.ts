import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import { findFactors, hasSecondFactor } from "@edge-op/shared/users/factors";
import { connectIdentity } from "../../upstream/link-identity.ts";
import { pendingProofs } from "../flow.ts";
import { mfaAcr } from "../second-factor.ts";
import type { DecidedRequest, StepResult } from "../step.ts";
import { findAllowed, findBasis, findSubject } from "../subject.ts";

/**
 * **The decision to connect an identity elsewhere**, of the person who has proven the account in this flow. To connect it they prove the account at its level,
 * also where a sign-in needs less. An identity that cannot be connected any more is no reason to stop. Cost: 1 D1 call, in parallel that of link-identity.ts.
 */
export async function submitLink(at: DecidedRequest, form: Form): Promise<StepResult> {
  const { link } = at.flow.marks;
  const user = await findSubject(at);
  const basis = await findBasis(at);
  if (link === undefined || user === undefined || basis === undefined) return { kind: "go to", step: "sign-in" };
  const isConnecting = form.get("decision") === "connect";
  const factors = at.factors ?? (await findFactors(at.context.env.DB, link.sub));
  const isAtLevel = findAuthentication(pendingProofs(at.flow), mfaAcr) !== undefined;
  if (isConnecting && !isAtLevel && (factors === undefined || hasSecondFactor(factors))) {
    return { kind: "go to", step: "prove-more" };
  }
  const [allowed] = await Promise.all([
    findAllowed(at, link.sub),
    isConnecting && connectIdentity(at, user, basis, link.id),
  ]);
  return { kind: "done", marks: { link: undefined }, allowed, factors };
}
