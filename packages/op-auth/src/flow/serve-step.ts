import { formToken, requireFormToken } from "@edge-op/pages/form-token";
import { languageCookie } from "@edge-op/pages/language-switch";
import { findLanguage, type Language } from "@edge-op/pages/languages";
import { redirect, withCookies } from "@edge-op/pages/respond-page";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import { settle } from "@edge-op/shared/control/settle";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import { checkRequest } from "../authorization/check-request.ts";
import { sendRefusal } from "../authorization/refuse-to-client.ts";
import { checkResponseTarget } from "../authorization/response-target.ts";
import { areParametersKept, openParameters } from "../authorization/stored-parameters.ts";
import { loginStart } from "../pages/describe-client.tsx";
import type { PageRequest } from "../pages/frame.ts";
import type { ShownError } from "../pages/serve-page.tsx";
import { decideAccount, decideSessionOf, type FoundAccount } from "../session/signed-in-person.ts";
import { WriteRefused } from "../session/write-as.ts";
import { type Flow, forOrganization, ofOrganization, pendingProofs, whoseFlow, withChoice } from "../step/flow.ts";
import { expired, newFlow, type OpenFlow, openFlow, pathOf } from "../step/sealed-flow.ts";
import type { Step, StepRequest, StepResult } from "../step/step.ts";
import { localesOf } from "../step/step-request.ts";
import { type FoundNext, findNext } from "./find-next.ts";
import { readClient, readingAhead } from "./flow-client.ts";
import { demandMore } from "./judge-sign-in.ts";
import { accountPolicy, authorizationPolicy, withDemand } from "./policy.ts";
import { signInAgain } from "./position.ts";
import { proceed } from "./proceed.ts";

/** Of a name or an address that a flow keeps, in characters. */
const longestTyped = 256;

/**
 * **`GET /flow/{step}`**: the page of a step. It decides nothing and can be loaded again. A page for a signed-in person sends anyone else to the
 * begin of the flow, and one of a step that writes leads to the step that is next. Cost: that of the page; for a step that writes beside it that of
 * find-next.ts. Calls that follow one another in a cold isolate, after a pause, in a busy one: 2/1/0 for the sign-in page without a session, 3/2/1
 * for the consent page.
 */
export async function showStep(at: PageRequest, step: Step): Promise<Response> {
  const opened = atPage(await openLive(at, flowParameter(at)), step);
  const open = await readStep(at, opened);
  const { flow, browser } = opened;
  if (step.isForPerson && !(await mayBeAt(open, step))) {
    return redirect(await pathOf(at, flow, browser, "restart"));
  }
  const token = await formToken(at.context, await tokenPurpose(open, step), browser.id);
  const f = flowParameter(at) ?? "";
  const form = { action: `/flow/${step.name}`, fields: { f, form_token: token } };
  const show = () => step.page({ ...open, form, restart: `/flow/restart?${new URLSearchParams({ f })}` });
  if (!step.writes) return show();
  const [found, page] = await Promise.all([findNext(open), show()]);
  return isNext(found, step) ? page : redirect(await pathToNext(at, opened, found));
}

/** A link from another page, or a typed address, keeps no problem. The previous release seals flows without the page of their problem. */
function atPage({ flow, browser }: OpenFlow, { name }: Step): OpenFlow {
  const isForeign = flow.problemAt !== undefined && flow.problemAt !== name;
  return { flow: isForeign ? { ...flow, problem: undefined } : flow, browser };
}

function isNext({ next }: FoundNext, step: Step): boolean {
  return next.kind === "page" && next.step.name === step.name;
}

/**
 * Going back, an old tab or a typed address: the person goes on where the flow is, or in a new one if it has ended. A page sends nothing, so the next
 * step has not begun.
 */
function pathToNext(at: PageRequest, { flow, browser }: OpenFlow, { next, whom }: FoundNext): Promise<string> {
  const isEnded = flow.isOpened || (flow.proofs.length > 0 && whom === undefined);
  if (next.kind !== "page" || isEnded) return pathOf(at, flow, browser, "restart");
  return pathOf(at, { ...flow, problem: undefined }, browser, next.step.name);
}

/**
 * **`POST /flow/{step}`**: judges a step's form and continues the flow; every response is a redirect. Cost: for a step that writes that of
 * find-next.ts; that of `submit`; then as in decide-authorization.ts. Calls that follow one another: 5/3/2 for a sign-in, 4/3/2 for a consent.
 */
export async function submitStep(at: PageRequest, step: Step): Promise<Response> {
  const form = readForm(at.request);
  const opened = atPage(await openLive(at, form.get("f") ?? flowParameter(at)), step);
  const open = await readStep(at, opened);
  const { flow, browser } = opened;
  if (step.isForPerson && !(await mayBeAt(open, step))) {
    return redirect(await pathOf(at, flow, browser, "restart"));
  }
  await requireFormToken(at.context, await tokenPurpose(open, step), browser.id, form.get("form_token"));
  const language = findLanguage(form.get("language") ?? "");
  if (language !== undefined) return inLanguage(at, step, opened, form, language);
  try {
    return await judgeForm(at, step, open, form);
  } catch (error) {
    if (!(error instanceof WriteRefused)) throw error;
    return signInAgain(at, flow, browser, { kind: "cut off" });
  }
}

/** The same page in another language, with what was typed. */
async function inLanguage(
  at: PageRequest,
  step: Step,
  { flow, browser }: OpenFlow,
  form: Form,
  language: Language,
): Promise<Response> {
  const typed = form.get("username") ?? form.get("address") ?? flow.typed;
  const typedName = form.get("name") ?? flow.marks.typedName;
  const marks = { ...flow.marks, typedName: typedName?.slice(0, longestTyped) };
  const path = await pathOf(at, { ...flow, marks, typed: typed?.trim().slice(0, longestTyped) }, browser, step.name);
  return redirect(path, [browser.setCookie, languageCookie(at.context, language)]);
}

async function judgeForm(at: PageRequest, step: Step, open: StepRequest, form: Form): Promise<Response> {
  if (!step.writes) return continueWith(at, step, open, await step.submit(open, form));
  const { flow, browser } = open;
  const found = await findNext(open);
  // The flow goes on as if this form had not been sent.
  if (!isNext(found, step)) return proceed(at, { flow, browser, person: await personAt(open, flow) });
  const judged = await judgeBefore(at, step, open, found);
  if (judged instanceof OAuthError) return withCookies(await refuse(at, open, judged), [browser.setCookie]);
  if (judged !== undefined) return proceed(at, { flow: judged, browser, person: await personAt(open, judged) });
  const { factors, recovery } = found;
  return continueWith(at, step, open, await step.submit({ ...open, factors, recovery }, form));
}

/**
 * The hook is asked before anything is stored, not only before a session: the flow in which more is to be proven, or a refusal. A page for a
 * signed-in person comes after it was asked, and of a newcomer there is nothing to ask.
 */
async function judgeBefore(
  at: PageRequest,
  { isForPerson }: Step,
  { flow, policy, authorization }: StepRequest,
  { whom }: FoundNext,
): Promise<Flow | OAuthError | undefined> {
  if (whom === undefined || isForPerson) return undefined;
  try {
    return await demandMore(at, { flow, policy, session: whom, client: authorization?.client, isComplete: false });
  } catch (error) {
    if (error instanceof OAuthError && authorization !== undefined) return error;
    throw error;
  }
}

const withoutClient: readonly Step["name"][] = ["recovery-codes", "terms"];

/** A page for a person needs one, in whose session all proofs are; most need a client too. */
async function mayBeAt({ flow, person, authorization }: StepRequest, { name }: Step): Promise<boolean> {
  if (pendingProofs(flow).length > 0) return false;
  return (await person()) !== undefined && (authorization !== undefined || withoutClient.includes(name));
}

/** **Continues the flow of a person who comes back from elsewhere**, with what the step then finds. */
export async function returnToStep(
  at: PageRequest,
  step: Step,
  f: string,
  judge: (open: StepRequest) => Promise<StepResult>,
): Promise<Response> {
  const open = await readStep(at, await openLive(at, f));
  return continueWith(at, step, open, await judge(open));
}

/** Continues a flow with the result of a step. */
async function continueWith(at: PageRequest, step: Step, open: StepRequest, result: StepResult): Promise<Response> {
  return withCookies(await responseAfter(at, step, open, result), [open.browser.setCookie]);
}

async function responseAfter(at: PageRequest, step: Step, open: StepRequest, result: StepResult): Promise<Response> {
  const { flow, browser } = open;
  switch (result.kind) {
    case "leave":
      return redirect(result.location);
    case "again": {
      const { problem, typed = flow.typed } = result;
      const marks = { ...flow.marks, ...result.marks };
      return redirect(await pathOf(at, { ...flow, marks, problem, typed }, browser, step.name));
    }
    case "go to":
      return redirect(await pathOf(at, await flowAt(at, flow, result), browser, result.step));
    case "refuse":
      return refuse(at, open, new OAuthError(result.code, result.reason));
    case "done": {
      const { proofs = [], marks, typed, isAnew = false, organization } = result;
      const foreign = proofs.find(({ method }) => !step.methods.includes(method));
      if (foreign !== undefined) throw new Error(`the step ${step.name} added a proof by ${foreign.method}`);
      const added: Flow = {
        ...(organization === undefined ? flow : forOrganization(flow, organization)),
        proofs: [...(isAnew ? [] : flow.proofs.filter(({ sub }) => isAbout(proofs, sub))), ...proofs],
        marks: { ...flow.marks, ...marks },
        problem: undefined,
        typed,
      };
      const hasRead = step.isForPerson || proofs.length > 0;
      const holder = hasRead || pendingProofs(added).length > 0 ? await personAt(open, added) : undefined;
      // Only a step that has read the person has one to pass on.
      const person = hasRead && !isAnew ? holder : undefined;
      return proceed(at, { flow: added, browser, person, holder, added: result });
    }
  }
}

/** Proofs of someone else than the person who signs in now are dropped. */
function isAbout(added: Flow["proofs"], sub: string): boolean {
  return added.every((proof) => proof.sub === sub);
}

/**
 * The flow at another step. A flow that has opened a session signs in again only as a new one, without proofs; nor has a recovery any: a password
 * that was proven before would sign in.
 */
async function flowAt(
  at: PageRequest,
  flow: Flow,
  { step, marks, typed = flow.typed }: Extract<StepResult, { readonly kind: "go to" }>,
): Promise<Flow> {
  const all = { ...flow.marks, ...marks };
  const isAnew = flow.isOpened && (step === "sign-in" || step === "recover");
  const again = step === "recover" ? { ...flow, proofs: [] } : flow;
  return { ...(isAnew ? await newFlow(at, flow.purpose, all) : again), marks: all, typed, problem: undefined };
}

/** Sends a refusal to the client, for example because the person cancelled. */
async function refuse(at: PageRequest, { flow }: StepRequest, refusal: OAuthError): Promise<Response> {
  const { context, isolate, request } = at;
  const { purpose } = flow;
  if (purpose.kind === "account") return redirect("/account");
  const { client, target } = await settle(context, isolate, async () => {
    const { client, parameters } = await readClient(at, purpose);
    return { client, target: checkResponseTarget(context.settings, client, parameters) };
  });
  const { pushedId } = purpose;
  return sendRefusal(context, isolate, request, { client, target, pushedId }, refusal);
}

/**
 * **`GET /flow/restart`**: the same request in a new flow, checked again and without proofs. An expired page links to it, and one whose flow was
 * used. A pushed request begins again only while it is unspent; with FAPI 2.0 only in its lifetime.
 */
export async function restartFlow(at: PageRequest): Promise<Response> {
  const { context, isolate } = at;
  const { flow, browser, age } = await openFlow(at, flowParameter(at));
  const { purpose } = flow;
  if (age === "over") throw await leadingOn(at, flow, expired("flow-expired"));
  if (purpose.kind === "account") return redirect(purpose.path);
  const { pushedId } = purpose;
  if (pushedId !== undefined) {
    const { client } = await settle(context, isolate, () => readClient(at, purpose), readingAhead(at, purpose));
    const kind = "authorization-request";
    const isUsable = isFapi(context.settings, client)
      ? (await openParameters(context, isolate, kind, pushedId)) !== undefined
      : await areParametersKept(context, isolate, kind, pushedId);
    if (!isUsable) throw await leadingOn(at, flow, expired("pushed-request-spent"));
  }
  return proceed(at, { flow: await newFlow(at, purpose), browser });
}

function flowParameter({ request }: PageRequest): string | undefined {
  return new URL(request.url).searchParams.get("f") ?? undefined;
}

/** The flow of a page, if it has not expired. The error of an expired one leads to a new flow. */
async function openLive(at: PageRequest, f: string | undefined): Promise<OpenFlow> {
  const { age, flow, browser } = await openFlow(at, f);
  if (age === "live") return { flow, browser };
  const restart = age === "over" ? undefined : await pathOf(at, { ...flow, problem: undefined }, browser, "restart");
  throw await leadingOn(at, flow, expired("flow-expired"), restart);
}

/** An error with the way on: the same request anew, or a new one at the application, if that is where it can begin. */
async function leadingOn(at: PageRequest, { purpose }: Flow, error: ShownError, restart?: string): Promise<ShownError> {
  const { context, isolate } = at;
  error.uiLocales = localesOf(purpose);
  const client =
    purpose.kind === "account"
      ? undefined
      : await settle(context, isolate, async () => (await readClient(at, purpose)).client, readingAhead(at, purpose));
  const href = restart ?? (client && loginStart(context.settings, client));
  const name = client && (client.metadata.client_name ?? client.clientId);
  if (href !== undefined) error.next = { href, client: name, isOver: restart === undefined };
  return error;
}

/** Reads what a step decides by: the client and its request as they are now, and the policy. */
async function readStep(at: PageRequest, { flow: opened, browser }: OpenFlow): Promise<StepRequest> {
  const { context, isolate } = at;
  const { purpose } = opened;
  let checking: Promise<StepRequest["authorization"]> | undefined;
  const asked = purpose.kind === "account" ? undefined : async () => (await checking)!;
  const whose = whoseFlow(opened, asked);
  let known: Promise<FoundAccount> | undefined;
  const account = () => (known ??= decideAccount(at, whose));
  const person = async () => (await account()).person;
  // Almost every page and form needs the person: the session is read in parallel with what follows.
  void account().catch(() => {});
  void isolate.upstreams.readAhead(context);
  if (purpose.kind === "account") {
    const flow = ofOrganization(opened, undefined);
    const policy = withDemand(accountPolicy(context, purpose), flow.marks.demanded);
    return { ...at, flow, browser, person, account, authorization: undefined, policy };
  }
  const check = async () => {
    const { client, parameters } = await readClient(at, purpose);
    const target = checkResponseTarget(context.settings, client, parameters);
    const request = await checkRequest({ context, isolate, client, parameters }, target);
    return { client, request: withChoice(request, purpose) };
  };
  const checked = settle(context, isolate, check, readingAhead(at, purpose));
  checking = checked;
  const { client, ...others } = await checked;
  const flow = ofOrganization(opened, others.request.organization);
  const policy = withDemand(await authorizationPolicy(context, client, others.request), flow.marks.demanded);
  return { ...at, flow, browser, person, account, authorization: { client, ...others }, policy };
}

/**
 * The person with whom a flow goes on: whose session its pending proofs replace, else who stays signed in beside them. Cost: that of `account`; 1
 * object call if the person has another session in this browser.
 */
async function personAt(open: StepRequest, { isOpened, proofs }: Pick<Flow, "isOpened" | "proofs">) {
  const [pending] = pendingProofs({ isOpened, proofs });
  const { person, holder } = await open.account();
  if (pending === undefined || (person ?? holder)?.user.sub === pending.sub)
    return pending ? (person ?? holder) : person;
  const { authorization } = open;
  const whose = { asked: authorization && (async () => authorization) };
  return (await decideSessionOf(open, pending.sub, whose)) ?? person ?? holder;
}

/** A form belongs to one step of one flow; that of a page for a person, to the person too, so that nobody submits what was shown to someone else. */
async function tokenPurpose({ flow, person }: StepRequest, { name, isForPerson }: Step): Promise<string> {
  const sub = isForPerson ? ((await person())?.user.sub ?? "") : "";
  return `flow ${name} ${flow.fid} ${sub}`;
}
