import { type Browser, readCookie } from "@edge-op/pages/cookies";
import { redirect, withCookies } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { settle } from "@edge-op/shared/control/settle";
import type { Resource } from "@edge-op/shared/resources/resource";
import { type PreparedSession, type SignIn, sessionVersion } from "@edge-op/shared/sessions/sessions";
import { findConsent } from "@edge-op/shared/users/consents";
import { forgetInBackground } from "@edge-op/shared/users/offline-grants";
import type { ResponseTarget } from "../authorization/checks/authorization-request.ts";
import { checkRequest } from "../authorization/checks/check-request.ts";
import { checkResponseTarget } from "../authorization/checks/response-target.ts";
import type { SignedInPerson } from "../browser/find-signed-in-person.ts";
import { findSignedInUser } from "../browser/find-signed-in-user.ts";
import { isAllowed } from "../consent/requested-allowances.ts";
import { planGrant } from "../response/plan-grant.ts";
import { spendPushedRequest } from "../response/pushed-request.ts";
import { refuseToClient } from "../response/refuse-to-client.ts";
import {
  type OpenedSession,
  type OpenOptions,
  openSession,
  prepareSession,
  signInOf,
  withKnownProofs,
} from "../session/open-session.ts";
import { withDemand } from "../steps/demand.ts";
import { type Flow, type Purpose, pendingProofs } from "../steps/flow.ts";
import type { Facts, FlowRequest, Policy, Step, StepResult } from "../steps/step.ts";
import { pathToProof } from "./begin-flow.ts";
import { readClient, readingAhead } from "./flow-client.ts";
import { admission, issueCode, offlineGrant, recordGrant, reliedConsent, sendCode } from "./grant-code.ts";
import { type CheckedRequest, findInSession, type InSession, newlyIn } from "./in-session.ts";
import { demandMore } from "./judge-sign-in.ts";
import { type NextStep, nextStep } from "./next-step.ts";
import { nobody, readPersonFacts } from "./person-facts.ts";
import { accountPolicy, authorizationPolicy } from "./policy.ts";
import { flowMs, newFlow, pathOf } from "./sealed-flow.ts";

/** The additions of the submitted step to the flow. */
type Added = Pick<
  Extract<StepResult, { kind: "done" }>,
  "proofs" | "allowed" | "factors" | "isActive" | "cookies" | "write"
>;

/** A flow after a step, or at its beginning. */
export interface FlowPosition {
  readonly flow: Flow;
  readonly browser: Browser;
  /** The signed-in person, if they were read for the step. */
  readonly person?: SignedInPerson | undefined;
  readonly added?: Added;
}

/**
 * **Continues a flow** with its next page or its end: a page of this provider, or the response to the client. The client and its request are checked
 * again, because either may have been changed since the last page.
 */
export async function proceed(at: FlowRequest, position: FlowPosition): Promise<Response> {
  const { context, isolate, request } = at;
  const { flow, browser, added } = position;
  const { purpose } = flow;
  const response =
    purpose.kind === "account"
      ? await proceedToAccount(at, position, purpose)
      : await settle(
          context,
          isolate,
          async (decision) => {
            const { parameters, client } = await readClient(at, purpose);
            const { pushedId } = purpose;
            let target: ResponseTarget | undefined;
            try {
              target = checkResponseTarget(context.settings, client, parameters);
              const checked = await checkRequest({ context, isolate, client, parameters }, target);
              return await decideAuthorization(at, position, { client, request: checked, pushedId, decision });
            } catch (error) {
              return refuseToClient(context, isolate, request, { client, target, pushedId, decision }, error);
            }
          },
          readingAhead(at, purpose),
        );
  return withCookies(response, [browser.setCookie, ...(added?.cookies ?? [])]);
}

function openingBy({ flow, browser }: FlowPosition, { isNewBrowser }: Pick<Facts, "isNewBrowser">): OpenOptions {
  const { fid, startedAtMs } = flow;
  return { flow: { fid, untilMs: startedAtMs + flowMs }, signingIn: { browser, startedAtMs, isNewBrowser } };
}

/** The step that comes before a session is opened; `undefined` if nothing is left, or a page for who is signed in. */
function stepBefore(next: NextStep): Step | undefined {
  return next.kind === "page" && !next.step.isForPerson ? next.step : undefined;
}

/** The proofs are complete, or are about to let their person change something. */
function isHookAsked(before: Step | undefined): boolean {
  return before === undefined || before.writes;
}

async function proceedToAccount(
  at: FlowRequest,
  position: FlowPosition,
  purpose: Extract<Purpose, { kind: "account" }>,
): Promise<Response> {
  const { context, isolate } = at;
  const { flow, browser, person, added } = position;
  const signIn = signInOf(pendingProofs(flow));
  const policy = withDemand(accountPolicy(context, purpose), flow.marks.demanded);
  if (signIn === undefined) {
    await added?.write?.();
    if (flow.isOpened) return redirect(purpose.path);
    const first = nextStep(flow, nobody, policy, context.arrivedAtMs);
    return redirect(await pathOf(at, flow, browser, first.kind === "page" ? first.step.name : "sign-in"));
  }
  const prepared = await prepareSession(at, withKnownProofs(signIn, person), { person, shard: flow.shard });
  const { session } = prepared;
  const known = await settle(context, isolate, () => readPersonFacts(at, position, policy, session, session.sub));
  const next = nextStep(flow, { ...known, allowed: [] }, policy, context.arrivedAtMs);
  if (next.kind === "refuse") throw new OAuthError(next.code, next.reason);
  const before = stepBefore(next);
  const asking = { flow, policy, session, client: undefined, isComplete: before === undefined };
  const more = isHookAsked(before) ? await demandMore(at, asking) : undefined;
  if (more !== undefined) return proceedToAccount(at, await withMore(position, more), purpose);
  if (before !== undefined) {
    await added?.write?.();
    return redirect(await pathToProof(at, position, before, session.sub));
  }
  const [opened] = await Promise.all([openSession(at, signIn, prepared, openingBy(position, known)), added?.write?.()]);
  if (opened.kind !== "opened") return signInAgain(at, flow, browser, opened);
  const path =
    next.kind === "page" ? await pathOf(at, { ...flow, isOpened: true }, browser, next.step.name) : purpose.path;
  return redirect(path, opened.cookies);
}

/** The position with what a hook demands. A flow that begins anew has none of the proofs, and nothing that was read with them. */
async function withMore({ added, ...position }: FlowPosition, flow: Flow): Promise<FlowPosition> {
  if (flow.fid === position.flow.fid) return { ...position, flow, ...(added === undefined ? {} : { added }) };
  await added?.write?.();
  return { ...position, flow };
}

/** A flow whose session was not opened: spent, it is shown as such; cut off by a change of the user, it begins again and says why. */
export async function signInAgain(
  at: FlowRequest,
  flow: Flow,
  browser: Browser,
  { kind }: Exclude<OpenedSession, { kind: "opened" }>,
): Promise<Response> {
  const again: Flow =
    kind === "spent"
      ? { ...flow, proofs: [], problem: { kind: "spent" } }
      : { ...(await newFlow(at, flow.purpose, flow.marks)), problem: { kind: "changed" }, typed: flow.typed };
  return redirect(await pathOf(at, again, browser, "sign-in"));
}

/**
 * **Decides a checked authorization request**: sends a code, or the page that must come first. With `prompt=none`, a page is a refusal (`OAuthError`).
 *
 * Cost, warm: without a session 0. A silent response 1 object call (use the session); 1 more after it for the first code of a client in a session, and
 * 1 D1 call if the consent is not in the session. After a sign-in or a consent: one wave, in which the session (1 object call) and its listing or the
 * consent (1 D1 call) are written in parallel. An offline grant in a session: the consent, its listing (1 D1 call) and the session after each
 * other. 1 more for a pushed request, and for a code that is too long for a URL.
 */
export async function decideAuthorization(
  at: FlowRequest,
  position: FlowPosition,
  checked: CheckedRequest,
): Promise<Response> {
  const { context, isolate, request } = at;
  const { demanded } = position.flow.marks;
  const policy = withDemand(await authorizationPolicy(context, checked.client, checked.request), demanded);
  const resources = await isolate.resources.findAll(context, checked.request.resources);
  const signIn = signInOf(pendingProofs(position.flow));
  if (signIn !== undefined) return decideSigningIn(at, position, checked, { policy, resources, signIn });
  const sessionId = position.person?.sessionId ?? readCookie(context, request, "op-session");
  return decideInSession(at, position, checked, { policy, resources, sessionId });
}

interface Rules {
  readonly policy: Policy;
  readonly resources: readonly Resource[];
}

async function decideInSession(
  at: FlowRequest,
  position: FlowPosition,
  checked: CheckedRequest,
  { policy, resources, sessionId }: Rules & { readonly sessionId: string | undefined },
): Promise<Response> {
  const { context, isolate } = at;
  const { flow, browser, added } = position;
  const { client, decision } = checked;
  const signInVersion = sessionId === undefined ? undefined : sessionVersion(sessionId);
  const grant = await planGrant(context, isolate, { client, signInVersion, resources });
  const found =
    sessionId === undefined ? undefined : await findInSession(at, position.person, checked, sessionId, grant);
  const facts = await readFacts(at, position, policy, client, found, added?.allowed);
  const next = nextStep(flow, facts, policy, context.arrivedAtMs);
  if (next.kind === "refuse") throw new OAuthError(next.code, next.reason);
  await decision.commit();
  if (next.kind === "page") {
    await added?.write?.();
    return redirect(await pathToStep(at, flow, browser, next.step));
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
async function pathToStep(at: FlowRequest, flow: Flow, browser: Browser, step: Step): Promise<string> {
  const isNew = flow.isOpened && !step.isForPerson;
  return pathOf(at, isNew ? await newFlow(at, flow.purpose, flow.marks) : flow, browser, step.name);
}

async function readFacts(
  at: FlowRequest,
  position: FlowPosition,
  policy: Policy,
  { clientId }: Client,
  found: Pick<InSession, "session" | "subject" | "known"> | undefined,
  allowed: readonly string[] | undefined,
): Promise<Facts> {
  if (found === undefined) return nobody;
  const { session, subject } = found;
  const { consent, asked } = policy;
  const inSession = found.known?.consented ?? [];
  const readAllowed = async () => {
    if (consent !== "remembered") return [];
    if (isAllowed(inSession, asked)) return inSession;
    return allowed ?? (await findConsent(at.context.env.DB, session.sub, clientId))?.allowed ?? [];
  };
  const [known, given] = await Promise.all([readPersonFacts(at, position, policy, session, subject), readAllowed()]);
  return { ...known, allowed: given };
}

async function decideSigningIn(
  at: FlowRequest,
  position: FlowPosition,
  checked: CheckedRequest,
  { signIn, ...rules }: Rules & { readonly signIn: SignIn },
): Promise<Response> {
  const { context, isolate } = at;
  const { flow, browser, person, added } = position;
  const { client, decision } = checked;
  const { policy, resources } = rules;
  const { version: signInVersion } = signIn;
  const grant = await planGrant(context, isolate, { client, signInVersion, resources });
  const prepared = await prepareSession(at, withKnownProofs(signIn, person), { person, shard: flow.shard });
  const isConfirmed = areOfThisRequest(position);
  const { sub } = prepared.session;
  const isActive =
    (isConfirmed && added?.isActive === true) ||
    (await findSignedInUser(context, isolate, signInVersion, prepared.session, { isConfirmed, mayLeave: true })) !==
      undefined;
  const subject = isActive ? ((await pairwiseSubject(context.env, client, sub)) ?? sub) : undefined;
  const found = subject === undefined ? undefined : newlyIn(prepared, person, subject, grant, client);
  const facts = await readFacts(at, position, policy, client, found, added?.allowed ?? []);
  const next = nextStep(flow, facts, policy, context.arrivedAtMs);
  if (next.kind === "refuse") {
    await added?.write?.();
    throw new OAuthError(next.code, next.reason);
  }
  const before = stepBefore(next);
  const asking = { flow, policy, session: prepared.session, client, isComplete: before === undefined };
  const more = found !== undefined && isHookAsked(before) ? await demandMore(at, asking) : undefined;
  if (more !== undefined) return decideAuthorization(at, await withMore(position, more), checked);
  await decision.commit();
  if (found === undefined) return signInAgain(at, flow, browser, { kind: "cut off" });
  // A proof that asks for another proof opens nothing yet.
  if (before !== undefined) {
    await added?.write?.();
    return redirect(await pathToProof(at, position, before, sub));
  }
  const opening = { ...openingBy(position, facts), clientId: client.clientId };
  if (next.kind === "finish")
    return openWithCode(at, position, checked, { ...rules, signIn, prepared, found, opening });
  const [opened] = await Promise.all([openSession(at, signIn, prepared, opening), added?.write?.()]);
  if (opened.kind !== "opened") return signInAgain(at, flow, browser, opened);
  const path = await pathOf(at, { ...flow, isOpened: true }, browser, next.step.name);
  return redirect(path, opened.cookies);
}

/** Whether all proofs were made by this request: the version that it has confirmed is theirs. */
function areOfThisRequest({ flow, added }: FlowPosition): boolean {
  return pendingProofs(flow).every((proof) => added?.proofs?.includes(proof) === true);
}

interface Opening extends Rules {
  readonly signIn: SignIn;
  readonly prepared: PreparedSession;
  readonly found: InSession;
  readonly opening: OpenOptions;
}

/** Opens the session of a sign-in that needs no more, and sends the code that was issued in parallel. */
async function openWithCode(
  at: FlowRequest,
  { flow, browser, added }: FlowPosition,
  checked: CheckedRequest,
  { signIn, prepared, found, opening, ...rules }: Opening,
): Promise<Response> {
  const { context } = at;
  const { policy } = rules;
  const offline = offlineGrant(checked, found);
  const listed = { consent: reliedConsent(checked, found), grant: offline };
  const [opened, code] = await Promise.all([
    openSession(at, signIn, prepared, { ...opening, admitted: admission(checked, found, false), listed }),
    issueCode(at, checked, policy, flow, found),
    spendPushedRequest(context, at.isolate, checked.pushedId),
    added?.write?.(),
  ]);
  if (opened.kind === "opened" && opened.session === prepared)
    return withCookies(await sendCode(at, checked, code), opened.cookies);
  // The code is not sent.
  if (offline !== undefined) forgetInBackground(context, offline.sub, offline);
  if (opened.kind !== "opened") return signInAgain(at, flow, browser, opened);
  // The session is another one than the code is for.
  const again = { flow: { ...flow, isOpened: true }, browser };
  const other = { ...checked, pushedId: undefined };
  const response = await decideInSession(at, again, other, { ...rules, sessionId: opened.session.id });
  return withCookies(response, opened.cookies);
}
