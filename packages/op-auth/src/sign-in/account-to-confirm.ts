import type { Client } from "@edge-op/shared/directory/client";
import { pairwiseSubject } from "@edge-op/shared/directory/pairwise-subject";
import type { User } from "@edge-op/shared/directory/user";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import type { Interaction } from "../authorization/interaction.ts";
import { findSignedInPerson } from "../browser/find-signed-in-person.ts";
import type { AuthIsolate } from "../isolate.ts";

/**
 * **Whose sign-in is to be confirmed**: a sign-in page that is shown although someone is signed in (`prompt=login`, `max_age`, `acr`,
 * a change at the account page) keeps their account, unless they chose to use another one or the client expects someone else.
 * Cost: 1 object call with a session cookie, else 0.
 */
export async function findAccountToConfirm(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  { purpose, steps }: Interaction,
  client: Client | undefined,
): Promise<User | undefined> {
  if (steps.otherAccount) return undefined;
  const person = await findSignedInPerson(context, isolate, request);
  if (person === undefined || purpose.kind === "account" || client === undefined) return person?.user;
  const { expectedSubject } = purpose.request;
  if (expectedSubject === undefined) return person.user;
  const { user } = person;
  const subject = (await pairwiseSubject(context.env, client, user.sub)) ?? user.sub;
  return subject === expectedSubject ? user : undefined;
}
