import {
  acrValuesOf,
  codeMethods,
  findAuthentication,
  passkeyMethods,
  passwordAcr,
  recoveryMethods,
  signInProofMethods,
  upstreamAcr,
} from "@edge-op/protocol/oauth/authentication-context";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { hasSecondFactor } from "@edge-op/shared/users/factors";
import { type AddressRecovery, stateOf } from "../session/address-recovery.ts";
import { type Flow, isProvenIn } from "./flow.ts";
import type { Facts, Policy, ReachingFactors, StepInput } from "./step.ts";

/** The `acr` of one factor, beside which another one is asked for. */
const firstFactorAcr: readonly string[] = [passwordAcr, upstreamAcr];

/** The `acr` of two factors. */
export const mfaAcr: readonly string[] = ["mfa"];

/** The maximum age of a sign-in that may change how a person signs in. */
export const freshMs = 10 * 60_000;

/**
 * **The second factor that a flow still needs**: to be proven or, by a person who has none, to be set up; `undefined` if the proofs are enough. Only
 * a person whose password, or a sign-in at an upstream provider, is proven, recently enough for the request, is asked; anyone else signs in first.
 * Pure.
 */
export function neededFactor({ flow, facts, policy, nowMs }: StepInput): "prove" | "set up" | undefined {
  const { person, factors } = facts;
  if (person === undefined) return undefined;
  const sinceMs = sinceOf(policy, flow, person.sub, nowMs);
  const has = (acr: readonly string[] | undefined) => findAuthentication(person.proofs, acr, sinceMs) !== undefined;
  if (has(mfaAcr) || !has(firstFactorAcr)) return undefined;
  // A new sign-in is asked for, and the person has not made it yet.
  if (!isProvenIn(flow, person.sub) && (flow.purpose.kind === "account" || policy.prompt.includes("login"))) {
    return undefined;
  }
  const isAcrMissing = policy.requiredAcr?.includes("mfa") === true && !has(policy.requiredAcr);
  if (isAcrMissing || isSecondFactorRequired({ flow, facts, policy })) {
    return factors !== undefined && hasSecondFactor(factors) ? "prove" : "set up";
  }
  const isPreferred = policy.preferredAcr?.includes("mfa") === true && !has(policy.preferredAcr);
  return isPreferred && !policy.prompt.includes("none") && factors?.totp === true ? "prove" : undefined;
}

/**
 * Whether the client, a role, the organisation, the deployment or the person's own app requires it. A remembered browser settles only the last two.
 */
function isSecondFactorRequired({ flow, facts, policy }: Pick<StepInput, "flow" | "facts" | "policy">): boolean {
  const { person, factors, isRemembered, isStrictMember } = facts;
  if (person === undefined) return false;
  if (policy.secondFactor === "always" || isStrictMember === true || hasStrictRole(person, policy)) return true;
  if (isRemembered) return false;
  return policy.secondFactor === "unless remembered" || (factors?.totp === true && isProvenIn(flow, person.sub));
}

function hasStrictRole({ roles }: Pick<NonNullable<Facts["person"]>, "roles">, { mfaRoles }: Policy): boolean {
  return mfaRoles.some((role) => roles.includes(role));
}

/**
 * Whether a decision depends on the person's second factors, so that they must be read: the proofs are not two factors, and the person signs in, or
 * something requires or prefers two.
 */
export function dependsOnFactors(
  flow: Pick<Flow, "proofs" | "isOpened" | "purpose">,
  person: NonNullable<Facts["person"]>,
  policy: Policy,
  nowMs: number,
): boolean {
  if (isRecovering(flow) || isPreferenceOpen(policy, person.proofs)) return true;
  const sinceMs = sinceOf(policy, flow, person.sub, nowMs);
  if (findAuthentication(person.proofs, mfaAcr, sinceMs) !== undefined) return false;
  const isSigningIn = !flow.isOpened && isProvenIn(flow, person.sub);
  const isAsked = [policy.requiredAcr, policy.preferredAcr].some((acr) => acr?.includes("mfa"));
  return isSigningIn || isAsked || policy.secondFactor !== "if set up" || hasStrictRole(person, policy);
}

/** Whether a request prefers an `acr` that the proofs do not have. A silent one is not kept from its response by a preference. */
export function isPreferenceOpen(
  { preferredAcr, prompt }: Pick<Policy, "preferredAcr" | "prompt">,
  proofs: readonly Proof[],
): boolean {
  const isPreferred = preferredAcr !== undefined && !prompt.includes("none");
  return isPreferred && findAuthentication(proofs, preferredAcr) === undefined;
}

/**
 * **The method by which a new sign-in of a person reaches one of the `acr` values**, by the factors that they have set up; `undefined` if none does.
 * What a provider elsewhere will say is unknown: a sign-in there reaches its own `acr`, with an app `mfa`, and what its record maps. Pure.
 */
export function methodToReach(
  acrValues: readonly string[] | undefined,
  factors: ReachingFactors | undefined,
): "password" | "passkey" | "upstream" | undefined {
  if (acrValues === undefined || factors === undefined) return undefined;
  const { passkeys, password, providers, totp, providerAcr = [] } = factors;
  const withApp = totp ? mfaAcr : [];
  const ways = [
    { method: "passkey", has: passkeys, reaches: passkeyMethods.flatMap(acrValuesOf) },
    { method: "password", has: password, reaches: [passwordAcr, ...withApp] },
    { method: "upstream", has: providers.length > 0, reaches: [upstreamAcr, ...withApp, ...providerAcr] },
  ] as const;
  return ways.find(({ has, reaches }) => has && acrValues.some((acr) => reaches.includes(acr)))?.method;
}

/** Whether a password or passkey was proven so recently that the person may set up another factor. */
export function hasFreshProof(proofs: readonly Proof[], nowMs: number): boolean {
  return proofs.some(({ method, atMs }) => signInProofMethods.includes(method) && nowMs - atMs <= freshMs);
}

/** The age that the request allows a proof: what it asked for is what the code says. A proof made for the request is young enough. */
export function sinceOf(
  { prompt, maxAgeSeconds }: Pick<Policy, "prompt" | "maxAgeSeconds">,
  { proofs, purpose }: Pick<Flow, "proofs" | "purpose">,
  sub: string,
  nowMs: number,
): number {
  const provenAtMs = Math.min(...proofs.filter((proof) => proof.sub === sub).map(({ atMs }) => atMs));
  const oldestMs = maxAgeSeconds === undefined ? 0 : nowMs - maxAgeSeconds * 1000;
  const isAnew = prompt.includes("login") || purpose.kind === "account";
  if (isAnew && Number.isFinite(provenAtMs)) return provenAtMs;
  return Math.min(oldestMs, provenAtMs);
}

/** The proof by which a person sets a new password, of a mailbox or a temporary password; `undefined` if they have signed in in the flow. */
export function recoveryProof(flow: Pick<Flow, "proofs">): Proof | undefined {
  const recovering = flow.proofs.find(({ method }) => recoveryMethods.includes(method));
  return recovering === undefined || isProvenIn(flow, recovering.sub) ? undefined : recovering;
}

export function isRecovering(flow: Pick<Flow, "proofs">): boolean {
  return recoveryProof(flow) !== undefined;
}

interface AskedToRecover {
  readonly flow: Pick<Flow, "proofs">;
  readonly facts: Pick<Facts, "factors" | "recovery">;
  /** Needed with a recovery alone. */
  readonly nowMs?: number | undefined;
}

/** Whether a policy lets a mailbox alone recover an account: nothing of the request, the client or the deployment needs two factors. Pure. */
export function isRecoveryAllowed({ recoversByAddress, secondFactor, requiredAcr }: Policy): boolean {
  return recoversByAddress && secondFactor === "if set up" && (requiredAcr?.includes(passwordAcr) ?? true);
}

/** The recovery by mail alone that a proven mailbox may use now, if it was asked for by the same mailbox. Pure. */
export function usableRecovery({
  flow,
  facts,
  nowMs,
}: Pick<AskedToRecover, "flow" | "nowMs"> & { readonly facts: Pick<Facts, "recovery"> }): AddressRecovery | undefined {
  const recovery = facts.recovery?.recovery;
  const isUsable = recovery !== undefined && nowMs !== undefined && stateOf(recovery, nowMs) === "usable";
  return isUsable && recoveryProof(flow)?.credential === recovery.key ? recovery : undefined;
}

/**
 * **What a person must prove beside it before they set a new password**, so that recovery is never weaker than signing in (NIST SP 800-63B-4
 * §4.2.2.2): `code`, of an app or a saved recovery code, if they have an app, or sign in by
 * passkey or at an upstream provider alone. `other`: they would need one and have none, so
 * only that way in or an administrator helps, who may give them a temporary password. Nothing, if they have asked a day ago to recover the account
 * by this mailbox alone, and nobody has stopped it. Pure.
 */
export function recoveryFactor({ flow, facts, nowMs }: AskedToRecover): "none" | "code" | "other" {
  const { factors } = facts;
  const recovering = recoveryProof(flow);
  if (recovering === undefined) return "none";
  if (flow.proofs.some(({ method, sub }) => sub === recovering.sub && codeMethods.includes(method))) return "none";
  // Without knowledge of the factors nothing is granted.
  if (factors === undefined) return "other";
  if (usableRecovery({ flow, facts, nowMs }) !== undefined) return "none";
  if (factors.totp) return "code";
  if (recovering.method === "temporaryPassword") return "none";
  const hasOther = factors.passkeys || factors.providers.length > 0;
  if (factors.password || !hasOther) return "none";
  return factors.recoveryCodes ? "code" : "other";
}
