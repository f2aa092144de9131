import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import { type Factors, hasSecondFactor, type ListedFactor } from "@edge-op/shared/users/factors";
import type { SignedInPerson } from "../browser/find-signed-in-person.ts";
import { signInFor } from "../flow/begin-flow.ts";
import { freshMs, mfaAcr } from "../steps/second-factor.ts";
import { type AccountRequest, isFresh, isFreshByPasskey } from "./require-person.ts";

/** Whether the person has proven two factors within ten minutes. */
export function isFreshWithTwo({ context }: AccountRequest, { session }: SignedInPerson): boolean {
  return findAuthentication(session.proofs, mfaAcr, context.arrivedAtMs - freshMs) !== undefined;
}

/** NIST SP 800-63B-4 §4.1.2.1: factors are changed at the level of the account: with two factors by a person who has two. */
export function mayChangeFactors(at: AccountRequest, person: SignedInPerson, factors: Factors): boolean {
  return hasSecondFactor(factors) ? isFreshWithTwo(at, person) : isFresh(at, person);
}

/** The same for a passkey; a person who has passkeys adds another one by using one of them. */
export function mayAddPasskey(at: AccountRequest, person: SignedInPerson, factors: ListedFactors): boolean {
  if (factors.some(({ kind }) => kind === "passkey")) return isFreshByPasskey(at, person);
  return factors.length > 0 ? isFreshWithTwo(at, person) : isFresh(at, person);
}

type ListedFactors = readonly Pick<ListedFactor, "kind">[];

/** Redirects to a sign-in at the level of the account, which returns to `path`. */
export function signInAtLevel(at: AccountRequest, path: string, factors: Factors): Promise<Response> {
  return signInFor(at, path, hasSecondFactor(factors) ? { requiredAcr: mfaAcr } : {});
}

/** With two factors by a person who has an app; else by any method, so that a person who has lost a passkey can remove it. */
export function mayRemovePasskey(at: AccountRequest, person: SignedInPerson, { totp }: Factors): boolean {
  return totp ? isFreshWithTwo(at, person) : isFresh(at, person);
}
