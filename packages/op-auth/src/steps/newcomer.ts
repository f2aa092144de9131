import { codeMethods } from "@edge-op/protocol/oauth/authentication-context";
import type { Flow, Newcomer } from "./flow.ts";

export type ProvenNewcomer = Newcomer & { readonly sub: string };

/** **Who is signing up**; `undefined` for a person who has proven to have an account: by it, or by the new one. */
export function newcomerOf({ marks, proofs }: Pick<Flow, "marks" | "proofs">): Newcomer | undefined {
  return proofs.some(({ method }) => !codeMethods.includes(method)) ? undefined : marks.newcomer;
}

export function provenNewcomerOf(flow: Pick<Flow, "marks" | "proofs">): ProvenNewcomer | undefined {
  const newcomer = newcomerOf(flow);
  return newcomer?.sub === undefined ? undefined : { ...newcomer, sub: newcomer.sub };
}
