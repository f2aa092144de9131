import type { Client } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../../auth-env.ts";
import type { Interaction } from "../../authorization/interaction.ts";
import { findSignedInPerson, type SignedInPerson } from "../../browser/find-signed-in-person.ts";
import type { AuthIsolate } from "../../isolate.ts";

/**
 * **The signed-in person whose sign-in is to be confirmed.** A sign-in page for someone who is signed in already (`prompt=login`, `max_age`,
 * `acr`, a change at the account page) is for their account, unless they chose another one or the client expects another subject.
 * Cost: 1 object call with a session cookie, else 0.
 */
export async function findPersonToConfirm(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  { purpose, steps }: Interaction,
  client: Client | undefined,
): Promise<SignedInPerson | undefined> {
  if (steps.otherAccount) return undefined;
  const person = await findSignedInPerson(context, isolate, request);
  if (person === undefined || purpose.kind === "account" || client === undefined) return person;
  const { expectedSubject } = purpose.request;
  if (expectedSubject === undefined) return person;
  const { sub } = person.user;
  const subject = (await pairwiseSubject(context.env, client, sub)) ?? sub;
  return subject === expectedSubject ? person : undefined;
}
