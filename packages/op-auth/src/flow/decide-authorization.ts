import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { planGrant } from "../authorization/plan-grant.ts";
import type { PageRequest } from "../pages/frame.ts";
import { readAccounts } from "../session/browser-accounts.ts";
import { prepareSession, signInOf, withKnownProofs } from "../session/open-session.ts";
import { findAccount, findSignedInUser, seenBy } from "../session/signed-in-person.ts";
import { forOrganization, ofOrganization, pendingProofs, whoseFlow, withChoice } from "../step/flow.ts";
import { decideInSession, type Rules } from "./decide-in-session.ts";
import { type CheckedRequest, type InSession, newlyIn } from "./in-session.ts";
import { openWithCode } from "./open-with-code.ts";
import { readFacts } from "./person-facts.ts";
import { authorizationPolicy, withDemand } from "./policy.ts";
import {
  askForProof,
  demandAt,
  type FlowPosition,
  openAndGoTo,
  openingBy,
  type SigningIn,
  signInAgain,
  stepBefore,
} from "./position.ts";
import { nextStep } from "./steps.ts";

/**
 * **Decides a checked authorization request**: sends a code, or the page that must come first. With `prompt=none`, a page is a refusal
 * (`OAuthError`).
 *
 * Cost, warm: without a session 0. A silent response 1 object call (use the session); 1 more after it for the first code of a client in a session,
 * and 1 D1 call if the consent is not in the session. After a sign-in or a consent: one wave, in which the session (1 object call) and its listing or
 * the consent (1 D1 call) are written beside each other. An offline grant in a session: the consent, its listing (1 D1 call) and the session after
 * each other. 1 more for a pushed request, and for a code that is too long for a URL.
 */
export async function decideAuthorization(
  at: PageRequest,
  position: FlowPosition,
  checked: CheckedRequest,
): Promise<Response> {
  let decided: Response | FlowPosition = position;
  // What a hook demands is policy from then on, so it is demanded once (judge-sign-in.ts); so is the only organisation of a person.
  while (!(decided instanceof Response)) decided = await decideAt(at, decided, checked);
  return decided;
}

/** The response, or the position in which a hook demands more, or an organisation was chosen without a page. */
async function decideAt(
  at: PageRequest,
  reached: FlowPosition,
  asked: CheckedRequest,
): Promise<Response | FlowPosition> {
  const { context, isolate, request } = at;
  const checked = { ...asked, request: withChoice(asked.request, reached.flow.purpose) };
  const flow = ofOrganization(reached.flow, checked.request.organization);
  const whose = whoseFlow(flow, async () => checked);
  // It may have been read for another organisation, which its person has not chosen.
  const seen = reached.person && (await seenBy(reached.person, whose));
  const position = { ...reached, flow, person: seen?.person };
  const { person } = position;
  const policy = withDemand(await authorizationPolicy(context, checked.client, checked.request), flow.marks.demanded);
  const resources = await isolate.resources.findAll(context, checked.request.resources);
  const signIn = signInOf(pendingProofs(flow));
  if (signIn === undefined) {
    const accounts = await readAccounts(context, request);
    const account =
      person === undefined ? await findAccount(at, accounts, whose) : ({ kind: "person", person } as const);
    return decideInSession(at, position, checked, { policy, resources, account });
  }
  const known = withKnownProofs(signIn, person);
  const prepared = await prepareSession(at, known, { person, shard: flow.shard });
  return decideSigningIn(at, position, checked, { policy, resources, signIn, prepared });
}

/** Proofs that have opened no session: more is asked for, or they open one, with a code if no page is left. */
async function decideSigningIn(
  at: PageRequest,
  position: FlowPosition,
  checked: CheckedRequest,
  { policy, resources, ...signingIn }: Rules & SigningIn,
): Promise<Response | FlowPosition> {
  const { flow, browser, added } = position;
  const { client, decision } = checked;
  const { prepared } = signingIn;
  const found = await findSigningIn(at, position, checked, { resources, ...signingIn });
  const facts = await readFacts(at, position, policy, client, found, added?.allowed ?? []);
  const next = nextStep(flow, facts, policy, at.context.arrivedAtMs);
  if (next.kind === "refuse") {
    await added?.write?.();
    throw new OAuthError(next.code, next.reason);
  }
  if (next.kind === "choose") return { ...position, flow: forOrganization(flow, next.organization) };
  const before = stepBefore(next);
  const demanding = found && (await demandAt(at, position, before, { policy, prepared, client }));
  if (demanding !== undefined) return demanding;
  await decision.commit();
  if (found === undefined) return signInAgain(at, flow, browser, { kind: "cut off" });
  if (before !== undefined) return askForProof(at, position, before, prepared.session.sub);
  const opening = { ...openingBy(position, facts), clientId: client.clientId };
  if (next.kind === "page") return openAndGoTo(at, position, signingIn, opening, next.step);
  return openWithCode(at, position, checked, { policy, resources, ...signingIn, found, opening });
}

/** The session that is to be opened, of an active user whom no change has cut off since the proofs. */
async function findSigningIn(
  { context, isolate }: PageRequest,
  position: FlowPosition,
  { client }: CheckedRequest,
  { resources, signIn, prepared }: Pick<Rules, "resources"> & SigningIn,
): Promise<InSession | undefined> {
  const { version: signInVersion } = signIn;
  const grant = await planGrant(context, isolate, { client, signInVersion, resources });
  const isConfirmed = areOfThisRequest(position);
  const isRead = isConfirmed && position.added?.isActive === true;
  const options = { isConfirmed, mayLeave: true };
  const isActive =
    isRead || (await findSignedInUser(context, isolate, signInVersion, prepared.session, options)) !== undefined;
  if (!isActive) return undefined;
  const { sub } = prepared.session;
  const subject = (await pairwiseSubject(context.env, client, sub)) ?? sub;
  return newlyIn(prepared, position.person, subject, grant, client);
}

/** Whether all proofs were made by this request: the version that it has confirmed is theirs. */
function areOfThisRequest({ flow, added }: FlowPosition): boolean {
  return pendingProofs(flow).every((proof) => added?.proofs?.includes(proof) === true);
}
