import { endSession } from "@edge-op/shared/endings/endings";
import { describeDevice, placeOf } from "@edge-op/shared/http/asker";
import type { Proof, SessionAdmission, SessionFlow } from "@edge-op/shared/sessions/session-rpc";
import type { PreparedSession, SignIn } from "@edge-op/shared/sessions/sessions";
import { joinProofs, restOnConnection } from "@edge-op/shared/sessions/usable-proofs";
import { type AdmittedBy, deleteUserSessions, saveUserSession } from "@edge-op/shared/sessions/user-sessions";
import type { ShardAddress } from "@edge-op/shared/storage/shard-address";
import type { PageRequest } from "../pages/frame.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { hasRecoveries, recordStop, stopRecovery } from "./address-recovery.ts";
import { rememberTerms } from "./agreed-terms.ts";
import { accountCookies, readAccounts, whileEnding, withActive } from "./browser-accounts.ts";
import { recordBrowser, type SigningIn } from "./known-browser.ts";
import type { SignedInPerson } from "./signed-in-person.ts";
import { oldestVersion } from "./write-as.ts";

export type OpenedSession =
  | { readonly kind: "opened"; readonly session: PreparedSession; readonly cookies: readonly string[] }
  /** The flow has opened a session before. */
  | { readonly kind: "spent" }
  /** A change of the user has ended the session meanwhile. */
  | { readonly kind: "cut off" };

export interface OpenOptions {
  readonly flow?: SessionFlow | undefined;
  /** The browser and the begin of a sign-in; absent where a session is only opened anew. */
  readonly signingIn?: SigningIn | undefined;
  /** Whoever is signed in in the browser, if they were read: someone else stays signed in. */
  readonly holder?: SignedInPerson | undefined;
  readonly admitted?: SessionAdmission | undefined;
  /** What the client is admitted by, and the offline grant that is listed with the session. */
  readonly listed?: AdmittedBy | undefined;
  /** The client that the person signs in for, for the audit. */
  readonly clientId?: string | undefined;
}

/** The sign-in that pending proofs amount to. */
export function signInOf(pending: readonly Proof[]): SignIn | undefined {
  const [first] = pending;
  if (first === undefined) return undefined;
  if (pending.some(({ sub }) => sub !== first.sub)) throw new Error("proofs of different people in one flow");
  return { sub: first.sub, proofs: pending, version: oldestVersion(pending) };
}

/** A sign-in with the proofs of the same person's session that it does not have itself, as far as they count for the request. */
export function withKnownProofs(signIn: SignIn, person: SignedInPerson | undefined): SignIn {
  if (person?.user.sub !== signIn.sub) return signIn;
  const { proofs, endsAtMs } = person.session;
  const joined = { ...signIn, proofs: joinProofs(proofs, signIn.proofs) };
  return restOnConnection(signIn.proofs) && !restOnConnection(joined.proofs) ? { ...joined, endsAtMs } : joined;
}

/**
 * **The session that a sign-in opens**, always with a new id (session fixation, RFC 6265 §8.4). If the same person is signed in, the `sid` that
 * clients know stays the same. Cost: 0.
 */
export async function prepareSession(
  { context, isolate }: PageRequest,
  signIn: SignIn,
  { person, shard }: { readonly person: SignedInPerson | undefined; readonly shard?: ShardAddress | undefined },
): Promise<PreparedSession> {
  const replaced = person?.user.sub === signIn.sub ? { id: person.sessionId, ...person } : undefined;
  return isolate.sessions.prepare(context, signIn, readDeployment(context.env).session, { shard, replaced });
}

/**
 * **Opens a prepared session for this browser**, makes it the active one, and lists it in D1. Sessions of other people stay, up to the number of
 * browser-accounts.ts; one more, and another session of the same person, end first, and their clients are notified. A session that a change of its
 * user or its upstream provider has ended meanwhile ends before the browser gets its cookie (ADR 16). If the session to be replaced has ended, the
 * sign-in is still valid: it gets a session of its own, without a client; so does one whose client's consent was withdrawn meanwhile. Cost: 1 object
 * call and 1 D1 call, in parallel; those of endings.ts where a session ends.
 */
export async function openSession(
  at: PageRequest,
  signIn: SignIn,
  prepared: PreparedSession,
  options: OpenOptions = {},
): Promise<OpenedSession> {
  const { context, isolate } = at;
  await endPrevious(at, prepared, options.holder);
  const [opened, saved] = await openAndList(at, signIn, prepared, options);
  if (opened === "spent") {
    await unlist(at, prepared);
    return { kind: "spent" };
  }
  if (opened === "opened" && saved === "stored") return openedAs(at, prepared, options);
  await endSession(context, isolate, { sid: prepared.session.sid }, "ended by a change during the sign-in");
  if (saved === "cut off") return { kind: "cut off" };
  if (saved === "stored") await deleteUserSessions(context.env.DB, signIn.sub, [prepared.session.sid]);
  const own = await isolate.sessions.prepare(context, signIn, readDeployment(context.env).session);
  // The first call has spent the flow, unless the session that it should have replaced was gone.
  const flow = opened === "gone" ? options.flow : undefined;
  const alone = { ...options, flow, admitted: undefined, listed: undefined };
  const [again, savedAgain] = await openAndList(at, signIn, own, alone);
  if (again === "opened" && savedAgain === "stored") return openedAs(at, own, options);
  await endSession(context, isolate, { sid: own.session.sid }, "ended by a change during the sign-in");
  return { kind: again === "spent" ? "spent" : "cut off" };
}

async function openedAs(
  at: PageRequest,
  prepared: PreparedSession,
  { signingIn, holder }: OpenOptions,
): Promise<OpenedSession> {
  const { context, request } = at;
  const { terms } = readDeployment(context.env);
  const { sub } = prepared.session;
  const before = await namedAccounts(at, holder);
  const accounts = withActive({ ...before, ending: [] }, { id: prepared.id, sub });
  const own = await accountCookies(context, request, accounts);
  // What a connection says makes no browser one that the person has used.
  if (signingIn === undefined || restOnConnection(prepared.session.proofs))
    return { kind: "opened", session: prepared, cookies: own };
  const hasAgreed = terms !== undefined && signingIn.terms === terms.version;
  const [known, agreed] = await Promise.all([
    recordBrowser(at, sub, signingIn),
    hasAgreed ? rememberTerms(at, signingIn.browser, sub, terms.version) : undefined,
  ]);
  const cookies = [...own, known, agreed].filter((each) => each !== undefined);
  return { kind: "opened", session: prepared, cookies };
}

function openAndList(
  { context, isolate, request }: PageRequest,
  { sub, version }: SignIn,
  prepared: PreparedSession,
  options: OpenOptions,
) {
  const { sid, signedInAtMs, endsAtMs } = prepared.session;
  const device = describeDevice(request.headers.get("user-agent"));
  const listed = { sid, device, signedInAtMs, endsAtMs, ...placeOf(context) };
  const open = async () => {
    try {
      const from = { device, ...placeOf(context) };
      return await isolate.sessions.open(context, prepared, readDeployment(context.env).session, { ...options, from });
    } catch (error) {
      // Without D1 it stays listed until its absolute end.
      context.waitUntil(unlist({ context }, prepared).catch(() => undefined));
      throw error;
    }
  };
  const { session, withheld } = prepared;
  const statements = [...withheld, ...session.proofs].flatMap(({ upstream }) => upstream ?? []);
  const list = async () => {
    const { DB } = context.env;
    // Whoever signs in has not lost what a recovery by mail alone is for.
    const mayStop = hasRecoveries(context) && !restOnConnection(session.proofs);
    const stop = mayStop ? stopRecovery(DB, { sub, sid, atMs: context.arrivedAtMs }) : undefined;
    const { kind, hasChanged } = await saveUserSession(
      DB,
      sub,
      listed,
      version,
      { ...options.listed, statements },
      stop,
    );
    if (hasChanged) recordStop(context, sub);
    return kind;
  };
  return Promise.all([open(), list()]);
}

/** A session that was not opened is not listed, unless its `sid` is that of the session that it should have replaced. */
async function unlist(
  { context }: Pick<PageRequest, "context">,
  { replaces, session }: PreparedSession,
): Promise<void> {
  if (replaces === undefined) await deleteUserSessions(context.env.DB, session.sub, [session.sid]);
}

/** The accounts of this browser before a sign-in. */
async function namedAccounts({ context, request }: PageRequest, holder: SignedInPerson | undefined) {
  const accounts = await readAccounts(context, request);
  const all = accounts.all.map(({ id, sub }) => ({ id, sub: id === holder?.sessionId ? holder.user.sub : sub }));
  return { ...accounts, all };
}

/**
 * Ends what the list of this browser has no place for beside a prepared session; also sessions that have ended, which may have remaining work, and
 * one whose person is not known.
 */
async function endPrevious(at: PageRequest, { id, session, replaces }: PreparedSession, holder?: SignedInPerson) {
  const { context, isolate } = at;
  const accounts = await namedAccounts(at, holder);
  const kept = new Set(withActive(accounts, { id, sub: session.sub }).all.map((account) => account.id));
  const stay = (each: string) => each === replaces || kept.has(each);
  const left = accounts.all.map((account) => account.id).filter((each) => !stay(each));
  const end = (each: string) =>
    whileEnding(at, each, () => endSession(context, isolate, { id: each }, "someone signed in anew"));
  await Promise.all([...accounts.ending.map((account) => account.id), ...left].map(end));
}
