import { findConsent } from "@edge-op/shared/users/consents";
import type { User } from "@edge-op/shared/users/user";
import { basisOf } from "../browser/find-signed-in-person.ts";
import type { Basis } from "../person/write-as.ts";
import { oldestVersion, pendingProofs } from "./flow.ts";
import type { StepRequest } from "./step.ts";

/** **The person whom a further proof is asked of**: who has proven something in this flow, else who is signed in. Cost: 0; 1 object call for the latter. */
export async function findSubject(at: StepRequest): Promise<User | undefined> {
  const { context, isolate, flow } = at;
  const [proof] = pendingProofs(flow);
  if (proof === undefined) return (await at.person())?.user;
  const user = await isolate.users.find(context, proof.sub);
  return user?.status === "suspended" ? undefined : user;
}

/** **What a write about that person rests on**: their proofs in this flow, else the session. Cost: that of {@link findSubject}. */
export async function findBasis(at: StepRequest): Promise<Basis | undefined> {
  const pending = pendingProofs(at.flow);
  const [proof] = pending;
  if (proof !== undefined) return { sub: proof.sub, version: oldestVersion(pending) };
  const person = await at.person();
  return person && basisOf(person);
}

/** The access that the person has allowed the client, read in parallel with a proof, so that the decision after it needs no call. Cost: 1 D1 call. */
export async function findAllowed({ context, authorization }: StepRequest, sub: string): Promise<readonly string[]> {
  if (authorization === undefined) return [];
  return (await findConsent(context.env.DB, sub, authorization.client.clientId))?.allowed ?? [];
}
