import { redirect } from "@edge-op/pages/respond-page";
import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import { type Factors, findFactors, hasSecondFactor, type ListedFactor } from "@edge-op/shared/users/factors";
import type { PageRequest } from "../pages/frame.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import { signInFor } from "../step/sealed-flow.ts";
import { freshMs, mfaAcr } from "../step/second-factor.ts";
import { pageOf } from "./account-areas.ts";
import { isFresh, isFreshByPasskey, isFreshByPassword } from "./require-person.ts";

/** Whether the person has proven two factors within ten minutes. */
export function isFreshWithTwo({ context }: PageRequest, { session }: SignedInPerson): boolean {
  return findAuthentication(session.proofs, mfaAcr, context.arrivedAtMs - freshMs) !== undefined;
}

/** NIST SP 800-63B-4 §4.1.2.1: factors are changed at the level of the account: with two factors by a person who has two. */
export function mayChangeFactors(at: PageRequest, person: SignedInPerson, factors: Factors): boolean {
  return hasSecondFactor(factors) ? isFreshWithTwo(at, person) : isFresh(at, person);
}

/** The same for a passkey; a person who has passkeys adds another one by using one of them. */
export function mayAddPasskey(at: PageRequest, person: SignedInPerson, factors: ListedFactors): boolean {
  if (factors.some(({ kind }) => kind === "passkey")) return isFreshByPasskey(at, person);
  return factors.length > 0 ? isFreshWithTwo(at, person) : isFresh(at, person);
}

/**
 * A browser may create a first passkey without asking only for a person who has just signed in by password: it takes that password's place, no
 * other's.
 */
export function mayAddConditionally(at: PageRequest, person: SignedInPerson, factors: ListedFactors): boolean {
  return factors.every(({ kind }) => kind !== "passkey") && isFreshByPassword(at, person);
}

type ListedFactors = readonly Pick<ListedFactor, "kind">[];

/** Redirects a person who is below the level of their account to a sign-in that returns to `path`. Cost: 1 D1 call. */
export async function refuseBelowLevel(
  at: PageRequest,
  person: SignedInPerson,
  path: string,
): Promise<Response | undefined> {
  const factors = await findFactors(at.context.env.DB, person.user.sub);
  if (factors === undefined) return redirect(pageOf(path));
  return mayChangeFactors(at, person, factors) ? undefined : signInAtLevel(at, path, factors);
}

/** Redirects to a sign-in at the level of the account, which returns to `path`. */
export function signInAtLevel(at: PageRequest, path: string, factors: Factors): Promise<Response> {
  return signInFor(at, path, hasSecondFactor(factors) ? { requiredAcr: mfaAcr } : {});
}

/** With two factors by a person who has an app; else by any method, so that a person who has lost a passkey can remove it. */
export function mayRemovePasskey(at: PageRequest, person: SignedInPerson, { totp }: Factors): boolean {
  return totp ? isFreshWithTwo(at, person) : isFresh(at, person);
}
