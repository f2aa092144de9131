import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import { mfaAcr } from "../../step/second-factor.ts";
import type { StepInput, StepState } from "../../step/step.ts";

/**
 * **Whether a sign-in needs a mailed code, because the browser is new to the person.** Only a password alone does: two factors need no more, and another
 * provider looks at browsers itself. A factor that was set up in this flow is none of them, because whoever has the password could set it up. The code is a signal, not a factor: it changes no `acr` (NIST SP 800-63B-4 §3.1.3.1). Pure.
 */
export function confirmBrowserState({ flow, facts }: Pick<StepInput, "flow" | "facts">): StepState {
  const { person, isNewBrowser, isMailable } = facts;
  if (person === undefined || isNewBrowser !== true || isMailable !== true) return { kind: "done" };
  const has = (method: string) => flow.proofs.some((proof) => proof.sub === person.sub && proof.method === method);
  const hasTwoFactors = findAuthentication(person.proofs, mfaAcr) !== undefined && flow.marks.enrolled !== person.sub;
  const isNeeded = has("password") && !has("mailedCode") && !hasTwoFactors;
  return isNeeded ? { kind: "needed", error: "login_required" } : { kind: "done" };
}
