import { redirect } from "@edge-op/pages/respond-page";
import { passkeyAcr } from "@edge-op/protocol/oauth/authentication-context";
import { settle } from "@edge-op/shared/control/settle";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Passkey } from "@edge-op/shared/users/credentials";
import type { AuthEnv } from "../auth-env.ts";
import { beginInteraction, type CompletedSteps } from "../authorization/interaction.ts";
import { identifyBrowser } from "../browser/cookies.ts";
import { findSignedInPerson, type SignedInPerson } from "../browser/find-signed-in-person.ts";
import { requireFormToken } from "../browser/form-token.ts";
import type { AuthIsolate } from "../isolate.ts";

export interface AccountRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
}

/** The maximum age of a sign-in that may add or remove a passkey. */
const freshMs = 10 * 60_000;

/** Limit for the query that is kept during a sign-in. The ids in it are shorter. */
const longestQuery = 1500;

/** The purpose of the form token. All forms of the account pages have the same token, bound to the session. */
export const accountForms = "account";

export function isFresh({ context }: AccountRequest, { session }: SignedInPerson): boolean {
  return context.arrivedAtMs - session.signedInAtMs <= freshMs;
}

/** For actions that a password alone must not authorize: anyone who knows the password could take over what passkeys protect. */
export function isFreshByPasskey(at: AccountRequest, person: SignedInPerson): boolean {
  return isFresh(at, person) && person.session.acr === passkeyAcr;
}

/** NIST SP 800-63B-4 §4.1.2.1: a person who has passkeys adds another one by using one of them. */
export function mayAddPasskey(at: AccountRequest, person: SignedInPerson, passkeys: readonly Passkey[]): boolean {
  return passkeys.length === 0 ? isFresh(at, person) : isFreshByPasskey(at, person);
}

/** **Serves the signed-in person**, and redirects anyone else to sign in first. */
export async function asPerson(
  at: AccountRequest,
  serve: (person: SignedInPerson) => Promise<Response>,
  otherwise: () => Promise<Response> = () => signInFirst(at),
): Promise<Response> {
  const { context, isolate, request } = at;
  const person = await settle(context, isolate, () => findSignedInPerson(context, isolate, request));
  return person === undefined ? otherwise() : serve(person);
}

/** Like {@link asPerson} for a posted form; also checks its form token. */
export async function asPersonPosting(
  at: AccountRequest,
  serve: (person: SignedInPerson, form: Form) => Promise<Response>,
): Promise<Response> {
  const form = readForm(at.request);
  return asPerson(at, async (person) => {
    await requireFormToken(at.context, accountForms, person.sessionId, form.get("form_token"));
    return serve(person, form);
  });
}

/** Redirects to the sign-in page, which returns to this URL, or after a form to the page that contains it. */
export async function signInFirst(at: AccountRequest): Promise<Response> {
  const { pathname, search } = new URL(at.request.url);
  const path = at.request.method === "POST" ? returnAfterForm(pathname) : pathname + search.slice(0, longestQuery);
  return signInFor(at, path);
}

/** Redirects to the sign-in page, which returns to a path of this origin. */
export async function signInFor(
  { context, isolate, request }: AccountRequest,
  path: string,
  steps: CompletedSteps = {},
  requiredAcr?: readonly string[],
): Promise<Response> {
  const browser = await identifyBrowser(context, request);
  const interaction = { purpose: { kind: "account", path, requiredAcr }, browserId: browser.id, steps } as const;
  return redirect(await beginInteraction(context, isolate, interaction, "sign-in"), [browser.setCookie]);
}

function returnAfterForm(pathname: string): string {
  return pathname === "/account/password" ? pathname : "/account";
}
