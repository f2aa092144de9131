import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { settle } from "@edge-op/shared/control/settle";
import type { Session } from "@edge-op/shared/sessions/session-rpc";
import type { Factors } from "@edge-op/shared/users/factors";
import { bySub, findWithUser, type RecoveringAccount } from "../addresses/find-by-address.ts";
import { signInOf, withKnownProofs } from "../session/open-session.ts";
import { findSignedInUser } from "../session/signed-in-person.ts";
import { newcomerOf, pendingProofs } from "../step/flow.ts";
import type { OfferedRecovery, StepRequest } from "../step/step.ts";
import { nobody, readPersonFacts } from "./person-facts.ts";
import { type NextStep, nextStep } from "./steps.ts";

interface Whom extends Pick<Session, "sub" | "proofs"> {
  /** Read with those who have proven something. */
  readonly account?: Pick<RecoveringAccount, "factors" | "isActive"> | undefined;
}

export interface FoundNext {
  readonly next: NextStep;
  /** Whom the flow is about, and their proofs; `undefined` if nobody is known yet. */
  readonly whom: Whom | undefined;
  /** Read for those who have proven something, and if the decision depends on them. */
  readonly factors: Factors | undefined;
  readonly recovery?: OfferedRecovery | undefined;
}

/**
 * **The step that is next at a page**, decided as decide-authorization.ts decides it after a form. A sealed flow says only what was proven in it; any
 * of its pages can be asked for with it. An earlier consent is not read: consent is last, and the person may repeat it. Cost: 1 D1 call; in a session
 * 1 object call, and that of readPersonFacts. For a newcomer 0.
 */
export async function findNext(at: StepRequest): Promise<FoundNext> {
  const { context, isolate, flow, browser, policy } = at;
  return settle(context, isolate, async () => {
    const whom = await findWhom(at);
    if (whom === undefined) {
      const { mustChoose } = newcomerOf(flow) === undefined ? await at.account() : {};
      return { next: nextStep(flow, { ...nobody, mustChoose }, policy, context.arrivedAtMs), whom, factors: undefined };
    }
    const { account } = whom;
    const known = { flow, browser, added: account };
    const facts = await readPersonFacts(at, known, policy, whom, await subjectFor(at, whom));
    const next = nextStep(flow, { ...facts, allowed: [] }, policy, context.arrivedAtMs);
    return { next, whom, factors: account?.factors ?? facts.factors, recovery: facts.recovery };
  });
}

/**
 * Whoever has proven something in the flow, unless a change has ended it since; else who is signed in. Where no isolate has read the former, their
 * record would be two more calls.
 */
async function findWhom(at: StepRequest): Promise<Whom | undefined> {
  const { context, isolate, flow } = at;
  if (newcomerOf(flow) !== undefined) return undefined;
  const signIn = signInOf(pendingProofs(flow));
  if (signIn === undefined) return (await at.person())?.session;
  const { DB } = context.env;
  const { sub, version } = signIn;
  const found = findWithUser(DB, bySub(DB, sub), sub);
  const reading = found.then(({ user }) => user);
  const [{ account }, user, person] = await Promise.all([
    found,
    findSignedInUser(context, isolate, version, { sub, sid: flow.fid }, { mayLeave: true, reading }),
    at.person(),
  ]);
  return user && { sub, proofs: withKnownProofs(signIn, person).proofs, account };
}

async function subjectFor({ context, authorization }: StepRequest, { sub }: Whom): Promise<string> {
  if (authorization === undefined) return sub;
  return (await pairwiseSubject(context.env, authorization.client, sub)) ?? sub;
}
