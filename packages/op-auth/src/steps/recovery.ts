import { codeMethods, recoveryMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import type { Factors } from "@edge-op/shared/users/factors";
import { type Flow, isProvenIn } from "./flow.ts";

/** The proof by which a person sets a new password, of a mailbox or a temporary password; `undefined` if they have signed in in the flow. */
export function recoveryProof(flow: Pick<Flow, "proofs">): Proof | undefined {
  const recovering = flow.proofs.find(({ method }) => recoveryMethods.includes(method));
  return recovering === undefined || isProvenIn(flow, recovering.sub) ? undefined : recovering;
}

export function isRecovering(flow: Pick<Flow, "proofs">): boolean {
  return recoveryProof(flow) !== undefined;
}

/**
 * **What a person must prove beside it before they set a new password**, so that recovery is never weaker than signing in (NIST SP 800-63B-4
 * §4.2.2.2): `code`, of an app or a saved recovery code, if they have an app, or sign in by
 * passkey or at an upstream provider alone. `other`: they would need one and have none, so
 * only that way in or an administrator helps, who may give them a temporary password. Pure.
 */
export function recoveryFactor(flow: Pick<Flow, "proofs">, factors: Factors | undefined): "none" | "code" | "other" {
  const recovering = recoveryProof(flow);
  if (recovering === undefined) return "none";
  if (flow.proofs.some(({ method, sub }) => sub === recovering.sub && codeMethods.includes(method))) return "none";
  // Without knowledge of the factors nothing is granted.
  if (factors === undefined) return "other";
  if (factors.totp) return "code";
  if (recovering.method === "temporaryPassword") return "none";
  const hasOther = factors.passkeys || factors.identities;
  if (factors.password || !hasOther) return "none";
  return factors.recoveryCodes ? "code" : "other";
}
