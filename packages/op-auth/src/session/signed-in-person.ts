import { readAhead } from "@edge-op/shared/callers/read-ahead";
import { settle } from "@edge-op/shared/control/settle";
import { type RequestContext, withMembers } from "@edge-op/shared/http/request-context";
import { isCutOffByRecords, sessionSubject } from "@edge-op/shared/leases/revocation-subject";
import type { Proof, Session, SessionContents } from "@edge-op/shared/sessions/session-rpc";
import { sessionVersion } from "@edge-op/shared/sessions/sessions";
import { hasOrganization, seenFor } from "@edge-op/shared/sessions/usable-proofs";
import type { User } from "@edge-op/shared/users/user";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import { type BrowserAccounts, hasAccounts, isAlone, readAccounts, withoutAccounts } from "./browser-accounts.ts";
import { chooseAccount, judgeAlone, type Whose } from "./choose-account.ts";
import type { Basis } from "./write-as.ts";

/** The session has the proofs that count for the request (usable-proofs.ts). */
export interface SignedInPerson extends SessionContents {
  readonly sessionId: string;
  readonly user: User;
  /** The others, which a session in its place keeps. */
  readonly withheld?: readonly Proof[];
}

/** What a write of the signed-in person rests on. */
export function basisOf({ user: { sub }, session: { sid }, sessionId }: SignedInPerson): Basis {
  return { sub, sid, version: sessionVersion(sessionId) };
}

/**
 * **The active account of a browser and its session**, for pages: a decision of its own, so that it may be made beside another one of the same
 * request. Cost: 1 object call. Calls that follow one another: 3 in a cold isolate, 2 after a pause, 1 in a busy one; none without a cookie.
 */
export async function decidePerson(at: PageRequest): Promise<SignedInPerson | undefined> {
  if (!hasAccounts(at)) return undefined;
  return decideApart(at, async (own) => {
    const { active } = await readAccounts(own.context, own.request);
    return active && findPerson(own, active.id, ofThisProvider);
  });
}

/** Whose a flow is. */
export interface FoundAccount {
  /** Whom its pages are for. */
  readonly person?: SignedInPerson | undefined;
  /** The person has to choose. */
  readonly mustChoose?: boolean;
  /** Whoever was read, also if their proofs do not count here: a sign-in as someone else leaves them signed in. */
  readonly holder?: SignedInPerson | undefined;
}

/** **The account that a flow is for** (choose-account.ts), likewise. Cost: with one account the same; with several, see {@link findAccount}. */
export async function decideAccount(at: PageRequest, whose: Whose): Promise<FoundAccount> {
  if (!hasAccounts(at)) return {};
  return decideApart(at, async (own) => {
    const accounts = await readAccounts(own.context, own.request);
    const found = await findAccount(own, accounts, whose);
    if (found.kind !== "session") return { person: found.person, mustChoose: found.kind === "ask" };
    const { person: holder, isHidden } = (await readPerson(own, found.id, whose)) ?? {};
    const judged = holder && found.isAlone ? await judgeAlone(own, holder.user, whose) : "account";
    return { person: judged === "account" && !isHidden ? holder : undefined, mustChoose: judged === "ask", holder };
  });
}

/**
 * **All accounts of this browser whose session lasts**, the active one first, to be named: one whose proofs do not count here is among them. Cost: 1
 * object call for each, at the same time.
 */
export async function decideAccounts(at: PageRequest): Promise<readonly SignedInPerson[]> {
  if (!hasAccounts(at)) return [];
  return decideApart(at, async (own) => {
    const { all } = await readAccounts(own.context, own.request);
    const found = await Promise.all(all.map(({ id }) => readPerson(own, id, ofThisProvider)));
    return found.flatMap((each) => each?.person ?? []);
  });
}

/** The session of this person in the browser, if it is listed, to be replaced. Cost: 0; 1 object call if it is. */
export async function decideSessionOf(at: PageRequest, sub: string, whose: Whose): Promise<SignedInPerson | undefined> {
  const { all } = await readAccounts(at.context, at.request);
  const listed = all.find((each) => each.sub === sub);
  return listed && decideApart(at, async (own) => (await readPerson(own, listed.id, whose))?.person);
}

function decideApart<T>(
  { context, isolate, request }: PageRequest,
  decide: (own: PageRequest) => Promise<T>,
): Promise<T> {
  const own = withMembers<AuthEnv>(context, { progress: { controlConfirmed: false } });
  const { keyRing, ...withoutKeys } = isolate;
  const begun = readAhead(own, withoutKeys, request);
  return settle(own, isolate, () => decide({ context: own, isolate, request }), begun);
}

/** `session`: of the only account, which is to be judged when it has been read, or one by name. `person`: read already. */
export type AccountOfRequest =
  | { readonly kind: "session"; readonly id: string; readonly isAlone: boolean; readonly person?: undefined }
  | { readonly kind: "person"; readonly person: SignedInPerson }
  | { readonly kind: "nobody"; readonly person?: undefined }
  | { readonly kind: "ask"; readonly person?: undefined };

/**
 * **The account of a request**, by choose-account.ts. If the client names nobody, sessions that have ended meanwhile do not count. Cost: 0 with one
 * account or a name; otherwise 1 object call for each account, at the same time.
 */
export async function findAccount(at: PageRequest, accounts: BrowserAccounts, whose: Whose): Promise<AccountOfRequest> {
  const named = await nameActive(at, accounts);
  const choice = await chooseAccount(at, named, whose);
  if (choice.kind === "account") return { kind: "session", id: choice.account.id, isAlone: isAlone(named) };
  if (choice.kind !== "any") return choice;
  const found = await Promise.all(named.all.map(({ id }) => findPerson(at, id, whose)));
  const live = found.filter((person) => person !== undefined);
  const [first] = live;
  if (first === undefined) return { kind: "nobody" };
  return live.length === 1 && first.sessionId === named.active?.id
    ? { kind: "person", person: first }
    : { kind: "ask" };
}

/** The previous release has opened the active session beside a list: its `sub` is read, once. */
async function nameActive({ context, isolate }: PageRequest, accounts: BrowserAccounts): Promise<BrowserAccounts> {
  const { active, all } = accounts;
  if (active === undefined || active.sub !== undefined || isAlone(accounts)) return accounts;
  const contents = await isolate.sessions.read(context, active.id);
  if (contents === undefined) return withoutAccounts(accounts, [active.id]);
  const named = { id: active.id, sub: contents.session.sub };
  return {
    ...accounts,
    active: named,
    all: [named, ...all.filter(({ id, sub }) => id !== named.id && sub !== named.sub)],
  };
}

/** For a page of this provider, which belongs to no organisation. */
const ofThisProvider: Whose = {};

async function findPerson(at: PageRequest, sessionId: string, whose: Whose): Promise<SignedInPerson | undefined> {
  const { person, isHidden } = (await readPerson(at, sessionId, whose)) ?? {};
  return isHidden === true ? undefined : person;
}

interface ReadPerson {
  readonly person: SignedInPerson;
  /** They are not signed in for this request: their session is only replaced, or named. */
  readonly isHidden: boolean;
}

async function readPerson(
  { context, isolate }: PageRequest,
  sessionId: string,
  whose: Whose,
): Promise<ReadPerson | undefined> {
  const contents = await isolate.sessions.read(context, sessionId);
  if (contents === undefined) return undefined;
  const user = await findSignedInUser(context, isolate, sessionVersion(sessionId), contents.session);
  return user && seenBy({ ...contents, sessionId, user }, whose);
}

/** **A person with what counts for a request** (O3), also if they were read for another one. Cost: 0. */
export async function seenBy(person: SignedInPerson, whose: Whose): Promise<ReadPerson> {
  const { session: known, withheld: others = [] } = person;
  if (others.length === 0 && !hasOrganization(known.proofs)) return { person, isHidden: false };
  const organization = (await whose.asked?.())?.request.organization;
  const { session, withheld, isHidden } = seenFor(known, organization, others);
  return { person: { ...person, session, withheld }, isHidden };
}

/**
 * **The user of a session that rests on a control version**, if the user is active and was not cut off after signing in: "revoke everything of this
 * subject" ends sessions too. Every revocation shard holds the cut-offs of the last day, and the one that the isolate calls anyway is read; the
 * user's record contains the earlier ones (ADR 28). If the version was confirmed for this request (`isConfirmed`), no cut-off that was in force when
 * the request arrived is newer, and none is read. `mayLeave`: also a person who has asked to delete their account, for the steps of a sign-in.
 * `reading`: the record, where it is read anyway. Cost warm: 0 calls (`direct`: 1 object call).
 */
export async function findSignedInUser(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  version: number,
  { sid, sub }: Pick<Session, "sid" | "sub">,
  {
    isConfirmed = false,
    mayLeave = false,
    reading = isolate.users.find(context, sub),
  }: { readonly isConfirmed?: boolean; readonly mayLeave?: boolean; readonly reading?: Promise<User | undefined> } = {},
): Promise<User | undefined> {
  const address = await isolate.revocation.cutOffShard(context);
  const session = sessionSubject({ sid, address }, { sub, version, issuer: context.settings.issuer });
  const [user, isCutOff] = await Promise.all([
    reading,
    isConfirmed ? false : isolate.revocation.isRevoked(context, [session]),
  ]);
  const isEnded = isCutOff || isCutOffByRecords(session, [user]);
  const isAllowed = user?.status === "active" || (mayLeave && user?.status === "leaving");
  return isAllowed && !isEnded ? user : undefined;
}
