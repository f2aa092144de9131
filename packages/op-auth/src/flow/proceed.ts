import { redirect, withCookies } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { type OpenDecision, settle } from "@edge-op/shared/control/settle";
import type { ResponseTarget } from "../authorization/authorization-request.ts";
import { checkRequest } from "../authorization/check-request.ts";
import { refuseToClient } from "../authorization/refuse-to-client.ts";
import { checkResponseTarget } from "../authorization/response-target.ts";
import type { PageRequest } from "../pages/frame.ts";
import { prepareSession, signInOf, withKnownProofs } from "../session/open-session.ts";
import { ofOrganization, type Purpose, pendingProofs } from "../step/flow.ts";
import { pathOf } from "../step/sealed-flow.ts";
import type { Policy } from "../step/step.ts";
import { decideAuthorization } from "./decide-authorization.ts";
import { readClient, readingAhead } from "./flow-client.ts";
import { nobody, readPersonFacts } from "./person-facts.ts";
import { accountPolicy, withDemand } from "./policy.ts";
import { askForProof, demandAt, type FlowPosition, openAndGoTo, openingBy, stepBefore } from "./position.ts";
import { nextStep } from "./steps.ts";

type To<Kind extends Purpose["kind"]> = Extract<Purpose, { readonly kind: Kind }>;

/**
 * **Continues a flow** with its next page or its end: a page of this provider, or the response to the client. The client and its request are checked
 * again, because either may have been changed since the last page.
 */
export async function proceed(at: PageRequest, position: FlowPosition): Promise<Response> {
  const { flow, browser, added } = position;
  const { purpose } = flow;
  const response =
    purpose.kind === "account"
      ? await proceedToAccount(at, { ...position, flow: ofOrganization(flow, undefined) }, purpose)
      : await proceedToClient(at, position, purpose);
  return withCookies(response, [browser.setCookie, ...(added?.cookies ?? [])]);
}

function proceedToClient(at: PageRequest, position: FlowPosition, purpose: To<"authorize">): Promise<Response> {
  const { context, isolate, request } = at;
  const { pushedId } = purpose;
  const decide = async (decision: OpenDecision) => {
    const { parameters, client } = await readClient(at, purpose);
    let target: ResponseTarget | undefined;
    try {
      target = checkResponseTarget(context.settings, client, parameters);
      const checked = await checkRequest({ context, isolate, client, parameters }, target);
      return await decideAuthorization(at, position, { client, request: checked, pushedId, decision });
    } catch (error) {
      return refuseToClient(context, isolate, request, { client, target, pushedId, decision }, error);
    }
  };
  return settle(context, isolate, decide, readingAhead(at, purpose));
}

async function proceedToAccount(at: PageRequest, position: FlowPosition, purpose: To<"account">): Promise<Response> {
  const { context, isolate } = at;
  const { flow, person } = position;
  const signIn = signInOf(pendingProofs(flow));
  const policy = withDemand(accountPolicy(context, purpose), flow.marks.demanded);
  if (signIn === undefined) return beginSignIn(at, position, purpose, policy);
  const prepared = await prepareSession(at, withKnownProofs(signIn, person), { person, shard: flow.shard });
  const { session } = prepared;
  const facts = await settle(context, isolate, () => readPersonFacts(at, position, policy, session, session.sub));
  const next = nextStep(flow, { ...facts, allowed: [] }, policy, context.arrivedAtMs);
  if (next.kind === "refuse") throw new OAuthError(next.code, next.reason);
  if (next.kind === "choose") throw new Error("an account page has no organisation");
  const before = stepBefore(next);
  const demanding = await demandAt(at, position, before, { policy, prepared, client: undefined });
  if (demanding !== undefined) return proceedToAccount(at, demanding, purpose);
  if (before !== undefined) return askForProof(at, position, before, session.sub);
  const goal = next.kind === "page" ? next.step : purpose.path;
  return openAndGoTo(at, position, { signIn, prepared }, openingBy(position, facts), goal);
}

/** Nothing is proven: the first page, or that of the purpose after the session was opened. */
async function beginSignIn(
  at: PageRequest,
  { flow, browser, added }: FlowPosition,
  { path }: To<"account">,
  policy: Policy,
): Promise<Response> {
  await added?.write?.();
  if (flow.isOpened) return redirect(path);
  const first = nextStep(flow, nobody, policy, at.context.arrivedAtMs);
  return redirect(await pathOf(at, flow, browser, first.kind === "page" ? first.step.name : "sign-in"));
}
