import type { InteractionCheckInput, Need } from "./interaction-check.ts";

/** **Whether a person must select an account**: with `prompt=select_account`, unless they have just signed in for this request. */
export function needsAccountSelection({ request, steps, signedIn }: InteractionCheckInput): Need | undefined {
  if (!request.prompt.includes("select_account")) return undefined;
  const isFresh = steps.signedInAtMs === signedIn?.use.session.signedInAtMs;
  if (steps.accountSelected || isFresh) return undefined;
  return { kind: "select-account", error: "account_selection_required" };
}
