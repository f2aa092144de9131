import { clientMark } from "@edge-op/pages/client-mark";
import { displayName } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { listPasskeys } from "@edge-op/shared/directory/credentials";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { authenticationContexts } from "@edge-op/shared/oauth/authentication-context";
import type { AuthEnv } from "../auth-env.ts";
import { advance, deny, requireClient } from "../authorization/advance.ts";
import {
  beginInteraction,
  type Interaction,
  requireInteraction,
  spendInteraction,
} from "../authorization/interaction.ts";
import { identifyBrowser } from "../browser/cookies.ts";
import { formToken, requireFormToken } from "../browser/form-token.ts";
import type { AuthIsolate } from "../isolate.ts";
import { frameOf } from "../pages/frame.ts";
import { findAccountToConfirm } from "./account-to-confirm.ts";
import { openSession } from "./open-session.ts";
import { passkeySignInOptions, verifyPasskeySignIn } from "./passkeys.ts";
import { SignInPage, type SignInView } from "./sign-in-page.tsx";
import { type SignInResult, verifyPasswordSignIn } from "./verify-password-sign-in.ts";

interface SignInRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
  readonly id: string;
}

/** **The sign-in page.** Cost: 1 object call; with a session cookie 1 more, and 1 D1 call where someone is signed in. */
export async function showSignIn(at: SignInRequest): Promise<Response> {
  const interaction = await requireInteraction(at.context, at.isolate, at.request, at.id);
  return renderSignIn(at, interaction, {});
}

/**
 * **A sign-in**, by password or passkey. Wrong ones show the page again and leave the interaction as it is; the right one spends
 * it, opens the session and goes on.
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
  const username = form.get("username");
  const result = await verifySignIn(at, interaction, {
    username: username ?? "",
    password: form.get("password") ?? "",
    credential: form.get("credential"),
  });
  if (result.kind !== "signedIn") return renderSignIn(at, interaction, { username, problem: result });
  await spendInteraction(context, isolate, id);
  const opened = await openSession(context, isolate, request, result.authentication);
  const steps = { ...interaction.steps, signedInAtMs: opened.session.signedInAtMs };
  return advance(context, isolate, request, { ...interaction, steps }, opened.id, [opened.cookie, ...result.cookies]);
}

async function verifySignIn(
  { context, isolate, request, id }: SignInRequest,
  interaction: Interaction,
  given: { readonly username: string; readonly password: string; readonly credential: string | undefined },
): Promise<SignInResult> {
  const browser = await identifyBrowser(context, request);
  if (given.credential !== undefined) {
    const ceremony = { interactionId: id, response: given.credential };
    return verifyPasskeySignIn(context, isolate, request, browser, ceremony);
  }
  if (!isPasswordEnough(interaction)) return { kind: "wrongPasskey" };
  return verifyPasswordSignIn(context, isolate, request, browser, given);
}

/** Not when the client has made another `acr` a must. */
function isPasswordEnough({ purpose }: Interaction): boolean {
  const required = purpose.kind === "authorize" ? purpose.request.requiredAcr : undefined;
  return required === undefined || required.includes(authenticationContexts.password.acr);
}

async function renderSignIn(
  { context, isolate, request, id }: SignInRequest,
  interaction: Interaction,
  {
    username,
    problem,
  }: { readonly username?: string | undefined; readonly problem?: Exclude<SignInResult, { kind: "signedIn" }> },
): Promise<Response> {
  const authorization = interaction.purpose.kind === "authorize" ? interaction.purpose.request : undefined;
  const client = authorization && (await requireClient(context, isolate, authorization));
  const account = await findAccountToConfirm(context, isolate, request, interaction, client);
  const passkeys = account && (await listPasskeys(context.env.DB, account.sub));
  const passwordAllowed = isPasswordEnough(interaction);
  const view: SignInView = {
    action: `/interaction/${id}/sign-in`,
    formToken: await formToken(context, `sign-in ${id}`, interaction.browserId),
    client: client && clientMark(client),
    account: account && { name: displayName(account), username: account.username },
    username: username ?? authorization?.loginHint,
    problem: problem ?? (passwordAllowed ? undefined : { kind: "passkeyNeeded" }),
    passkeyOptions: passkeys?.length === 0 ? undefined : await passkeySignInOptions(context, id, passkeys),
    passwordAllowed,
  };
  const page = <SignInPage frame={frameOf(context, request, authorization?.uiLocales)} view={view} />;
  const isThrottled = problem?.kind === "throttled";
  return respondPage(page, {
    status: problem === undefined ? 200 : isThrottled ? 429 : 400,
    headers: isThrottled ? { "Retry-After": String(problem.seconds) } : {},
    formTarget: authorization?.redirectUri,
  });
}
