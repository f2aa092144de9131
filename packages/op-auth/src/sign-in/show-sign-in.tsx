import { MessagePage } from "@edge-op/pages/message-pages";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import type { CodeRequest } from "../authorization/authorization-request.ts";
import { describeClient } from "../pages/describe-client.tsx";
import { WayButton } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { passwordMethod } from "../passwords/password-method.tsx";
import { readDeployment } from "../runtime/deployment.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import type { Problem } from "../step/flow.ts";
import { methodToReach } from "../step/second-factor.ts";
import type { SignInMethod, SignInMethodView } from "../step/sign-in-method.ts";
import type { StepPageRequest, StepRequest } from "../step/step.ts";
import { findFactorsToPrefer, stepFrame } from "../step/step-request.ts";
import { discoverUpstream, formLeaves, provenAddress } from "../upstream/discovery.ts";
import { upstreamMethod } from "../upstream/upstream-method.tsx";
import { leaveByHint, nameOf } from "./identifier-first.ts";
import { methodsFor, signInMethods } from "./methods.ts";
import { SignInPage, type SignInPart, type SignInProblem, type SignInReason } from "./sign-in-page.tsx";
import { reasonToSignInAgain, signInState } from "./sign-in-state.ts";
import { isSignUpOffered } from "./sign-up-rule.tsx";

/**
 * **The sign-in page.** A person who went back to it after signing in continues instead. Cost: 0; with a session cookie 1 object call, and 1 D1 call
 * if someone is signed in; for a logo as in describe-client.tsx.
 */
export async function showSignIn(at: StepPageRequest): Promise<Response> {
  const { context, isolate, authorization, flow, form, policy } = at;
  const asking = authorization?.request;
  const frame = await stepFrame(at);
  if (flow.problem?.kind === "spent" || (await isSignedIn(at))) return showContinue(at, frame);
  const person = await findPersonToConfirm(at);
  const methods = methodsFor(policy.requiredAcr);
  const named = nameOf(at);
  const asked = person === undefined && methods.includes(passwordMethod) ? named.asked : undefined;
  const { username } = named;
  const left = await leaveByHint(at, { username, asked });
  if (left?.kind === "leave") return redirect(left.location);
  const problem = currentProblem(at, left?.problem ?? flow.problem);
  const discovered = await discoverUpstream(at, username ?? (await provenAddress(at, flow)));
  const canRecover = context.settings.mailProvider !== "off" && methods.includes(passwordMethod);
  const areProvidersFirst = readDeployment(context.env).signInPage === "providers";
  const forgotten = { name: "recover", value: "1", id: "forgot", text: frame.t("signIn.forgot") };
  const parts = await renderParts(at, methods, {
    form,
    formId: methods.includes(passwordMethod) ? "credentials" : undefined,
    forgotten: canRecover && asked !== "name" ? <WayButton way={forgotten} formId="credentials" /> : undefined,
    t: frame.t,
    account: person?.user,
    username,
    asked,
    discovered,
    problem,
    areProvidersFirst,
  });
  const view = {
    form,
    client: authorization && (await describeClient(context, isolate, authorization.client)),
    account: person?.user,
    reason: asking && person && (await describeReason(at, asking, person)),
    needsTwoFactors: policy.requiredAcr?.includes("mfa") === true,
    problem,
    link: flow.marks.link,
    discovered: discovered?.document,
    required: methods.length < signInMethods.length ? methods[0] : undefined,
    methods,
    parts,
    areProvidersFirst,
    again: frame.location ?? at.restart,
    canSignUp: person === undefined && isSignUpOffered(at),
  };
  const isThrottled = problem?.kind === "throttled";
  return respondPage(<SignInPage frame={frame} view={view} />, {
    status: problem === undefined ? 200 : isThrottled ? 429 : 400,
    headers: isThrottled ? { "Retry-After": String(problem.seconds) } : {},
    formLeaves: await formLeaves(at),
  });
}

/** Whether nothing is left to do here: the person has signed in since the page was shown first. */
async function isSignedIn(at: StepPageRequest): Promise<boolean> {
  const { authorization, flow, policy, context } = at;
  if (authorization === undefined) return false;
  const person = await at.person();
  if (person === undefined || policy.expectedSubject !== undefined) return false;
  const { sub } = person.user;
  const known = { sub, subject: sub, proofs: person.session.proofs, roles: [], isLeaving: false };
  const factors = await findFactorsToPrefer(at, policy, person.session);
  const facts = { person: known, factors, isRemembered: false, allowed: [] };
  return signInState({ flow, facts, policy, nowMs: context.arrivedAtMs }).kind === "done";
}

function showContinue({ restart, authorization }: StepPageRequest, frame: AuthPageFrame): Promise<Response> {
  const { t } = frame;
  const name = authorization?.client.metadata.client_name;
  const text = name === undefined ? t("flow.continue") : t("flow.continueTo", { client: name });
  const page = (
    <MessagePage frame={frame} title={t("flow.spent")} text={t("flow.spentText")} link={{ href: restart, text }} />
  );
  return respondPage(page);
}

/** A person who waited long enough is not told to wait. */
function currentProblem({ context }: StepPageRequest, problem: Problem | undefined): SignInProblem | undefined {
  switch (problem?.kind) {
    case "refused": {
      const method = signInMethods.find(({ name }) => name === problem.method);
      return method && { kind: "refused", method };
    }
    case "throttled": {
      const seconds = Math.ceil((problem.untilMs - context.arrivedAtMs) / 1000);
      return seconds > 0 ? { kind: "throttled", seconds } : undefined;
    }
    case "not allowed":
    case "changed":
    case "suspended":
      return { kind: problem.kind };
    case "upstream":
      return problem;
    default:
      return undefined;
  }
}

async function renderParts(
  at: StepPageRequest,
  methods: readonly SignInMethod[],
  {
    problem,
    areProvidersFirst,
    ...view
  }: Omit<SignInMethodView, "isRefused" | "isAlternative"> & {
    readonly problem: SignInProblem | undefined;
    readonly areProvidersFirst: boolean;
  },
): Promise<SignInPart[]> {
  return Promise.all(
    methods.map(async (method, index) => {
      const isRefused = problem?.kind === "refused" && problem.method === method;
      // Enter presses the first button of a form: one above the password is none of its form.
      const formId = method === upstreamMethod && areProvidersFirst ? undefined : view.formId;
      return { method, element: await method.render(at, { ...view, formId, isRefused, isAlternative: index > 0 }) };
    }),
  );
}

async function describeReason(
  at: StepPageRequest,
  request: CodeRequest,
  { session }: SignedInPerson,
): Promise<SignInReason | undefined> {
  const factors = await findFactorsToPrefer(at, request, session);
  const kind = reasonToSignInAgain(request, session.proofs, at.context.arrivedAtMs, factors);
  if (kind !== "preferred acr") return kind && { kind };
  const name = methodToReach(request.preferredAcr, factors);
  return { kind, method: signInMethods.find((method) => method.name === name) };
}

/**
 * **The signed-in person whose sign-in is to be confirmed.** A sign-in page for someone who is signed in already (`prompt=login`, `max_age`,
 * `acr`, a change at the account page) is for their account, unless they chose another one or the client expects another subject.
 */
async function findPersonToConfirm(at: StepRequest): Promise<SignedInPerson | undefined> {
  const { context, authorization, flow } = at;
  if (flow.marks.otherAccount) return undefined;
  const person = await at.person();
  const expectedSubject = authorization?.request.expectedSubject;
  if (person === undefined || authorization === undefined || expectedSubject === undefined) return person;
  const { sub } = person.user;
  const subject = (await pairwiseSubject(context.env, authorization.client, sub)) ?? sub;
  return subject === expectedSubject ? person : undefined;
}
