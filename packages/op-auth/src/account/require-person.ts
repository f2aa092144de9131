import { requireFormToken } from "@edge-op/pages/form-token";
import { redirect } from "@edge-op/pages/respond-page";
import { passkeyMethods, signInProofMethods, upstreamMethods } from "@edge-op/protocol/oauth/authentication-context";
import { endSessions } from "@edge-op/shared/endings/endings";
import { type Form, readForm } from "@edge-op/shared/http/read-form";
import { laneOf } from "@edge-op/shared/sessions/attempts";
import type { Proof, Session } from "@edge-op/shared/sessions/session-rpc";
import { allUserSessions } from "@edge-op/shared/sessions/user-sessions";
import type { PageRequest } from "../pages/frame.ts";
import { pathToChoose } from "../session/account-list.tsx";
import { readAccounts } from "../session/browser-accounts.ts";
import { reserveAttempt } from "../session/sign-in-limits.ts";
import { decidePerson, type SignedInPerson } from "../session/signed-in-person.ts";
import { WriteRefused } from "../session/write-as.ts";
import { signInFor } from "../step/sealed-flow.ts";
import { freshMs } from "../step/second-factor.ts";
import { pageOf } from "./account-areas.ts";
import { backWith } from "./account-notices.ts";

/** Limit for the query that is kept during a sign-in. The ids in it are shorter. */
const longestQuery = 1500;

/** The purpose of the form token. All forms of the account pages have the same token, bound to the session. */
export const accountForms = "account";

export function isFresh(at: PageRequest, person: SignedInPerson): boolean {
  return hasFreshProof(at, person, ({ method }) => signInProofMethods.includes(method));
}

/** For actions that a password alone must not authorize: anyone who knows the password could take over what passkeys protect. */
export function isFreshByPasskey(at: PageRequest, person: SignedInPerson): boolean {
  return hasFreshProof(at, person, ({ method }) => passkeyMethods.includes(method));
}

export function isFreshByPassword(at: PageRequest, person: SignedInPerson): boolean {
  return hasFreshProof(at, person, ({ method }) => method === "password");
}

/** For a person without a password and without passkeys: the level of their account. */
export function isFreshByUpstream(at: PageRequest, person: SignedInPerson): boolean {
  return hasFreshProof(at, person, ({ method }) => upstreamMethods.includes(method));
}

/** The proof itself must be young: a sign-in by another method does not renew it. */
function hasFreshProof(
  { context }: PageRequest,
  { session }: SignedInPerson,
  counts: (proof: Proof) => boolean,
): boolean {
  return session.proofs.some((proof) => counts(proof) && context.arrivedAtMs - proof.atMs <= freshMs);
}

/** **Serves the signed-in person**, and redirects anyone else to sign in first. */
export async function asPerson(
  at: PageRequest,
  serve: (person: SignedInPerson) => Promise<Response>,
  otherwise: () => Promise<Response> = () => signInFirst(at),
): Promise<Response> {
  const person = await decidePerson(at);
  return person === undefined ? otherwise() : serve(person);
}

/**
 * Like {@link asPerson} for a posted form; also checks its form token. If the session has ended before the form was written, its person signs in; if
 * what the form changes is not what the person saw, the account page says so.
 */
export async function asPersonPosting(
  at: PageRequest,
  serve: (person: SignedInPerson, form: Form) => Promise<Response>,
): Promise<Response> {
  const form = readForm(at.request);
  return asPerson(at, async (person) => {
    await requireFormToken(at.context, accountForms, person.sessionId, form.get("form_token"));
    try {
      return await serve(person, form);
    } catch (error) {
      if (!(error instanceof WriteRefused)) throw error;
      return error.kind === "ended" ? signInFirst(at) : backWith(at, "not-changed");
    }
  });
}

/** Redirects to the sign-in page, which returns to this URL, or after a form to the page that contains it. */
export async function signInFirst(at: PageRequest): Promise<Response> {
  const { pathname, search } = new URL(at.request.url);
  const path = at.request.method === "POST" ? returnAfterForm(pathname) : pathname + search.slice(0, longestQuery);
  return signInOrChoose(at, path);
}

/** Who has left the active account, or whose session has ended, chooses among the others of this browser. */
export async function signInOrChoose(at: PageRequest, path: string): Promise<Response> {
  const { active, all } = await readAccounts(at.context, at.request);
  return all.some((each) => each !== active) ? redirect(pathToChoose(path)) : signInFor(at, path);
}

function returnAfterForm(pathname: string): string {
  return ["/account/password", "/account/address", "/account/data", "/account/delete"].includes(pathname)
    ? pathname
    : pageOf(pathname);
}

const lanes = laneOf({ capacity: 10, drainMs: 360_000 });

/**
 * **Whether a person may make another control change** that costs them no code and no attempt: ten, then ten an hour, because each stops every shard
 * for a moment. Cost: 1 object call.
 */
export async function mayChangeNow({ context, isolate }: PageRequest, sub: string): Promise<boolean> {
  const bucket = { name: "account", subject: `changes ${sub}`, lanes } as const;
  return (await reserveAttempt(context, isolate, [bucket], "code")).retryAfterSeconds === undefined;
}

/**
 * **Ends all sessions of a person except one.** Their clients are notified and their grants are revoked, as at any logout.
 * Cost: 1 D1 call for every 200 sessions, and for each session those of endings.ts, 20 sessions at once.
 */
export async function endOtherSessions(
  { context, isolate }: PageRequest,
  { sub, sid: kept }: Session,
  reason: string,
): Promise<void> {
  for await (const sids of allUserSessions(context.env.DB, sub, context.arrivedAtMs)) {
    const others = sids.filter((sid) => sid !== kept);
    await endSessions(context, isolate, others, reason);
  }
}
