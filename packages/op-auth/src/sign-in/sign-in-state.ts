import { findAuthentication, isSupportedAcr, upstreamMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { isProvenIn } from "../step/flow.ts";
import { hasFreshProof, isPreferenceOpen, isRecovering, methodToReach, neededFactor } from "../step/second-factor.ts";
import type { Policy, ReachingFactors, StepInput, StepState } from "../step/step.ts";

/**
 * **Whether a person must sign in**: nobody is signed in, the client expects someone else, or their proofs do not satisfy the request
 * ({@link reasonToSignInAgain}). A proof made in this flow settles `prompt=login`, a preferred `acr` and `max_age`; if the person or the required
 * `acr` still differs after it, the request is refused. A flow to a page of this provider needs a proof of its own.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#Authenticates
 */
export function signInState({ flow, facts, policy, nowMs }: StepInput): StepState {
  const { person } = facts;
  if (policy.requiredAcr?.every((acr) => !isSupportedAcr(acr))) {
    return { kind: "refuse", code: "unmet_authentication_requirements", reason: "acr-unsupported" };
  }
  const needed: StepState = { kind: "needed", error: "login_required" };
  if (person === undefined || belongsElsewhere({ flow, facts })) return needed;
  // They set a new password instead.
  if (isRecovering(flow)) return { kind: "done" };
  const isProven = isProvenIn(flow, person.sub);
  if (!isProven && (flow.purpose.kind === "account" || flow.marks.otherAccount)) return needed;
  const isExpected = policy.expectedSubject === undefined || policy.expectedSubject === person.subject;
  if (!isExpected && isProven) {
    return { kind: "refuse", code: "login_required", reason: "other-subject-signed-in" };
  }
  if (!isExpected) return needed;
  const needsFactor = neededFactor({ flow, facts, policy, nowMs });
  // The first proof stands, and a step after this one asks for what is missing.
  if (needsFactor === "prove") return { kind: "done" };
  if (needsFactor === "set up") return hasFreshProof(person.proofs, nowMs) ? { kind: "done" } : needed;
  const reason = reasonToSignInAgain(policy, person.proofs, nowMs, facts.factors);
  if (reason === "required acr" && isProven) {
    return { kind: "refuse", code: "unmet_authentication_requirements", reason: "acr-not-reached" };
  }
  return reason === undefined || isProven ? { kind: "done" } : needed;
}

/**
 * Whether an upstream provider owns the domain of the person's address, and has not signed them in. Who has come from there connects the account
 * first.
 */
function belongsElsewhere({ flow, facts: { person, requiredUpstream } }: Pick<StepInput, "flow" | "facts">): boolean {
  if (person === undefined || requiredUpstream === undefined) return false;
  const { link } = flow.marks;
  if (link?.sub === person.sub && link.upstreamId === requiredUpstream) return false;
  return !person.proofs.some(
    ({ method, credential }) => upstreamMethods.includes(method) && credential === requiredUpstream,
  );
}

export type ReasonToSignInAgain = "required acr" | "prompt=login" | "preferred acr" | "max_age";

/**
 * Why proofs do not satisfy a request, before any made for it; `undefined` if they do. What is preferred is a reason only if the person can reach it:
 * a request must not ask anew each time for what no sign-in of theirs has.
 */
export function reasonToSignInAgain(
  {
    requiredAcr,
    prompt,
    preferredAcr,
    maxAgeSeconds,
  }: Pick<Policy, "requiredAcr" | "prompt" | "preferredAcr" | "maxAgeSeconds">,
  proofs: readonly Proof[],
  nowMs: number,
  factors?: ReachingFactors,
): ReasonToSignInAgain | undefined {
  if (findAuthentication(proofs, requiredAcr) === undefined) return "required acr";
  if (prompt.includes("login")) return "prompt=login";
  // A preference is no reason to refuse a silent request.
  const isPreferred = isPreferenceOpen({ preferredAcr, prompt }, proofs);
  if (isPreferred && methodToReach(preferredAcr, factors) !== undefined) return "preferred acr";
  if (maxAgeSeconds === undefined) return undefined;
  const sinceMs = nowMs - maxAgeSeconds * 1000;
  return findAuthentication(proofs, requiredAcr, sinceMs) === undefined ? "max_age" : undefined;
}
