import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import { findFactors, hasSecondFactor } from "@edge-op/shared/users/factors";
import { connectIdentity } from "../../upstream/link-identity.ts";
import { isProvenIn, pendingProofs } from "../flow.ts";
import { mfaAcr } from "../second-factor.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { findAllowed, findSubject } from "../subject.ts";

/**
 * **The decision to connect an identity elsewhere**, of the person who has proven the account in this flow, at the level of the account: this form could
 * be posted in place of the one that asks for the second factor. An identity that cannot be connected any more is no reason to stop. Cost: 2 D1 calls beside
 * each other, then that of link-identity.ts.
 */
export async function submitLink(at: StepRequest, form: Form): Promise<StepResult> {
  const { link } = at.flow.marks;
  const proofs = pendingProofs(at.flow).filter(({ sub }) => sub === link?.sub);
  const user = await findSubject(at);
  const isProven = link !== undefined && isProvenIn(at.flow, link.sub);
  if (link === undefined || !isProven || proofs.length === 0 || user?.sub !== link.sub)
    return { kind: "go to", step: "sign-in" };
  const [allowed, factors] = await Promise.all([findAllowed(at, link.sub), findFactors(at.context.env.DB, link.sub)]);
  if (form.get("decision") === "connect") {
    const needsMore =
      factors !== undefined && hasSecondFactor(factors) && findAuthentication(proofs, mfaAcr) === undefined;
    if (factors === undefined || needsMore) return { kind: "go to", step: "prove-more" };
    const version = Math.min(...proofs.map(({ controlVersion }) => controlVersion));
    await connectIdentity(at, user, { sub: link.sub, version }, link.id);
  }
  return { kind: "done", marks: { link: undefined }, allowed, factors };
}
