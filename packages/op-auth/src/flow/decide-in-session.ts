import { redirect } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Resource } from "@edge-op/shared/resources/resource";
import { sessionVersion } from "@edge-op/shared/sessions/sessions";
import { planGrant } from "../authorization/plan-grant.ts";
import { spendPushedRequest } from "../authorization/pushed-request.ts";
import type { PageRequest } from "../pages/frame.ts";
import type { AccountOfRequest } from "../session/signed-in-person.ts";
import { forOrganization, whoseFlow, withChoice } from "../step/flow.ts";
import { newFlow, pathOf } from "../step/sealed-flow.ts";
import type { Policy, Step } from "../step/step.ts";
import { issueCode, recordGrant, sendCode } from "./grant-code.ts";
import { type CheckedRequest, findInSession } from "./in-session.ts";
import { readFacts } from "./person-facts.ts";
import { authorizationPolicy, withDemand } from "./policy.ts";
import type { FlowPosition } from "./position.ts";
import { nextStep } from "./steps.ts";

/** What a request is decided by, beside the person. */
export interface Rules {
  readonly policy: Policy;
  readonly resources: readonly Resource[];
}

/** **Decides a request for whoever is signed in**: the next page, or a code in their session. */
export async function decideInSession(
  at: PageRequest,
  position: FlowPosition,
  checked: CheckedRequest,
  { policy, resources, account }: Rules & { readonly account: AccountOfRequest },
): Promise<Response> {
  const { context, isolate } = at;
  const { flow } = position;
  const { client } = checked;
  const sessionId = account.kind === "session" ? account.id : account.person?.sessionId;
  const signInVersion = sessionId === undefined ? undefined : sessionVersion(sessionId);
  const grant = await planGrant(context, isolate, { client, signInVersion, resources });
  const answered = await findInSession(at, account, checked, { grant, whose: whoseFlow(flow, async () => checked) });
  return decideFound(at, position, checked, policy, answered);
}

/** The same with the session, which is used once, also if an organisation is chosen without a page. */
async function decideFound(
  at: PageRequest,
  position: FlowPosition,
  checked: CheckedRequest,
  policy: Policy,
  answered: Awaited<ReturnType<typeof findInSession>>,
): Promise<Response> {
  const { context, isolate } = at;
  const { flow, added } = position;
  const { client, decision } = checked;
  const found = answered === "ask" ? undefined : answered;
  const known = await readFacts(at, position, policy, client, found, added?.allowed);
  const facts = { ...known, mustChoose: answered === "ask" };
  const next = nextStep(flow, facts, policy, context.arrivedAtMs);
  if (next.kind === "refuse") throw new OAuthError(next.code, next.reason);
  if (next.kind === "choose") {
    const chosen = forOrganization(flow, next.organization);
    const none = { ...checked.request, organization: undefined };
    const request = withChoice(none, chosen.purpose);
    const ofChoice = withDemand(await authorizationPolicy(context, client, request), flow.marks.demanded);
    return decideFound(at, { ...position, flow: chosen }, { ...checked, request }, ofChoice, answered);
  }
  await decision.commit();
  if (next.kind === "page") {
    await added?.write?.();
    return redirect(await pathToStep(at, position, next.step));
  }
  if (found === undefined) throw new OAuthError("login_required", "nobody-signed-in");
  const [code] = await Promise.all([
    issueCode(at, checked, policy, flow, found),
    recordGrant(at, checked, found, added?.write && (() => added.write!())),
    spendPushedRequest(context, isolate, checked.pushedId),
  ]);
  return sendCode(at, checked, code);
}

/** What is proven after a session was opened needs a new flow, because this one has spent its `fid`. */
async function pathToStep(at: PageRequest, { flow, browser }: FlowPosition, step: Step): Promise<string> {
  const isNew = flow.isOpened && !step.isForPerson;
  return pathOf(at, isNew ? await newFlow(at, flow.purpose, flow.marks) : flow, browser, step.name);
}
