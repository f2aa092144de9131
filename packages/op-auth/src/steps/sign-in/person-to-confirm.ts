import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import type { SignedInPerson } from "../../session/signed-in-person.ts";
import type { StepRequest } from "../../step/step.ts";

/**
 * **The signed-in person whose sign-in is to be confirmed.** A sign-in page for someone who is signed in already (`prompt=login`, `max_age`,
 * `acr`, a change at the account page) is for their account, unless they chose another one or the client expects another subject.
 */
export async function findPersonToConfirm(at: StepRequest): Promise<SignedInPerson | undefined> {
  const { context, authorization, flow } = at;
  if (flow.marks.otherAccount) return undefined;
  const person = await at.person();
  const expectedSubject = authorization?.request.expectedSubject;
  if (person === undefined || authorization === undefined || expectedSubject === undefined) return person;
  const { sub } = person.user;
  const subject = (await pairwiseSubject(context.env, authorization.client, sub)) ?? sub;
  return subject === expectedSubject ? person : undefined;
}
