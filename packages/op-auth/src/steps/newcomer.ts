import { codeMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Flow, Newcomer } from "./flow.ts";

export type ProvenNewcomer = Newcomer & { readonly sub: string };

/** **The person who is signing up**; `undefined` for one who has proven an existing or the new account. */
export function newcomerOf({ marks, proofs }: Pick<Flow, "marks" | "proofs">): Newcomer | undefined {
  return proofs.some(({ method }) => !codeMethods.includes(method)) ? undefined : marks.newcomer;
}

export function provenNewcomerOf(flow: Pick<Flow, "marks" | "proofs">): ProvenNewcomer | undefined {
  const newcomer = newcomerOf(flow);
  return newcomer?.sub === undefined ? undefined : { ...newcomer, sub: newcomer.sub };
}
