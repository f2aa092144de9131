import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import { advance, deny, requireClient } from "../../authorization/advance.ts";
import type { CodeRequest } from "../../authorization/checks/authorization-request.ts";
import {
  beginInteraction,
  type Interaction,
  requireInteraction,
  spendInteraction,
} from "../../authorization/interaction.ts";
import { reasonToSignInAgain } from "../../authorization/needs-sign-in.ts";
import type { SignedInPerson } from "../../browser/find-signed-in-person.ts";
import { formToken, requireFormToken } from "../../browser/form-token.ts";
import { describeClient } from "../../pages/describe-client.ts";
import { frameOf } from "../../pages/frame.ts";
import { openSession } from "../open-session.ts";
import type { SignInMethod, SignInMethodView, SignInRequest } from "../sign-in-method.ts";
import { findPersonToConfirm } from "./person-to-confirm.ts";
import { methodOf, methodsFor, signInMethods } from "./sign-in-methods.ts";
import { SignInPage, type SignInPart, type SignInProblem, type SignInReason } from "./sign-in-page.tsx";

/**
 * **The sign-in page.** Cost: 1 object call; with a session cookie 1 more, and 1 D1 call if someone is signed in; for a logo as in
 * describe-client.ts.
 */
export async function showSignIn(at: SignInRequest): Promise<Response> {
  const interaction = await requireInteraction(at.context, at.isolate, at.request, at.id);
  return renderSignIn(at, interaction, {});
}

/**
 * **A posted sign-in**, verified by the method that the form belongs to. A refused one renders the page again and leaves the interaction
 * as it is; a correct one spends it, opens the session and continues the authorization.
 */
export async function submitSignIn(at: SignInRequest): Promise<Response> {
  const { context, isolate, request, id } = at;
  const form = readForm(request);
  const interaction = await requireInteraction(context, isolate, request, id);
  await requireFormToken(context, `sign-in ${id}`, interaction.browserId, form.get("form_token"));
  if (form.get("cancel") !== undefined) {
    await spendInteraction(context, isolate, id);
    return deny(context, isolate, request, interaction);
  }
  if (form.get("account") === "other") {
    await spendInteraction(context, isolate, id);
    const steps = { ...interaction.steps, otherAccount: true };
    return redirect(await beginInteraction(context, isolate, { ...interaction, steps }, "sign-in"));
  }
  return verifySignIn(at, interaction, form);
}

async function verifySignIn(at: SignInRequest, interaction: Interaction, form: Form): Promise<Response> {
  const { context, isolate, request, id } = at;
  const method = methodOf(form);
  const username = form.get("username");
  if (!methodsFor(requiredAcrOf(interaction)).includes(method)) {
    return renderSignIn(at, interaction, { username, problem: { kind: "not allowed" } });
  }
  // Before the credentials are read: a change after this version ends the session (ADR 28).
  await isolate.revocation.confirmControl(context);
  const version = isolate.control.version ?? 0;
  const result = await method.verify(at, form);
  if (result.kind === "throttled") return renderSignIn(at, interaction, { username, problem: result });
  if (result.kind === "refused") {
    return renderSignIn(at, interaction, { username, problem: { kind: "refused", method } });
  }
  await spendInteraction(context, isolate, id);
  const clientId = authorizationOf(interaction)?.clientId;
  const opened = await openSession(context, isolate, request, { ...result.authentication, version }, clientId);
  const steps = { ...interaction.steps, signedInAtMs: opened.session.signedInAtMs };
  return advance(context, isolate, request, { ...interaction, steps }, opened.id, [opened.cookie, ...result.cookies]);
}

function authorizationOf({ purpose }: Interaction): CodeRequest | undefined {
  return purpose.kind === "authorize" ? purpose.request : undefined;
}

function requiredAcrOf({ purpose }: Interaction): readonly string[] | undefined {
  return purpose.kind === "authorize" ? purpose.request.requiredAcr : purpose.requiredAcr;
}

async function renderSignIn(
  at: SignInRequest,
  interaction: Interaction,
  { username, problem }: { readonly username?: string | undefined; readonly problem?: SignInProblem },
): Promise<Response> {
  const { context, isolate, request, id } = at;
  const authorization = authorizationOf(interaction);
  const client = authorization && (await requireClient(context, isolate, authorization));
  const person = await findPersonToConfirm(context, isolate, request, interaction, client);
  const frame = frameOf(context, request, authorization?.uiLocales);
  const methods = methodsFor(requiredAcrOf(interaction));
  const form = {
    action: `/interaction/${id}/sign-in`,
    formToken: await formToken(context, `sign-in ${id}`, interaction.browserId),
  };
  const parts = await renderParts(at, methods, {
    ...form,
    language: frame.t.language,
    account: person?.user,
    username: username ?? authorization?.loginHint,
    problem,
  });
  const view = {
    ...form,
    client: client && (await describeClient(context, isolate, client)),
    account: person?.user,
    reason: authorization && person && describeReason(authorization, person, context.arrivedAtMs),
    problem,
    required: methods.length < signInMethods.length ? methods[0] : undefined,
    methods,
    parts,
  };
  const isThrottled = problem?.kind === "throttled";
  return respondPage(<SignInPage frame={frame} view={view} />, {
    status: problem === undefined ? 200 : isThrottled ? 429 : 400,
    headers: isThrottled ? { "Retry-After": String(problem.seconds) } : {},
    formTarget: authorization?.redirectUri,
  });
}

async function renderParts(
  at: SignInRequest,
  methods: readonly SignInMethod[],
  {
    problem,
    ...view
  }: Omit<SignInMethodView, "isRefused" | "isAlternative"> & { readonly problem?: SignInProblem | undefined },
): Promise<SignInPart[]> {
  return Promise.all(
    methods.map(async (method, index) => {
      const isRefused = problem?.kind === "refused" && problem.method === method;
      return { method, element: await method.render(at, { ...view, isRefused, isAlternative: index > 0 }) };
    }),
  );
}

function describeReason(request: CodeRequest, { session }: SignedInPerson, nowMs: number): SignInReason | undefined {
  const reason = reasonToSignInAgain(request, session, nowMs);
  return reason === "preferred acr"
    ? { kind: reason, method: methodsFor(request.preferredAcr)[0] }
    : reason && { kind: reason };
}
