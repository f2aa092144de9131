import type { GrantRevocation } from "../grants/grant-revocation.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { RevocationBindings } from "../leases/revocation-view.ts";
import type { RefreshFamilyBindings } from "../refresh/refresh-families.ts";
import type { EndedSession } from "../sessions/session-rpc.ts";
import type { SessionBindings, Sessions } from "../sessions/sessions.ts";
import { allUserSessions, deleteUserSessions } from "../sessions/user-sessions.ts";
import { type Revoking, revokeGrants } from "./revoke-grants.ts";

export type EndingContext = RequestContext<SessionBindings & RefreshFamilyBindings & RevocationBindings>;

/** The memory of an isolate that ends sessions. */
export interface SessionEnder extends Revoking {
  readonly sessions: Pick<Sessions, "end" | "endBySid" | "dismissClient" | "acknowledgeRevoked">;
}

/** Sessions ended concurrently. */
const batch = 20;

/** A session by its cookie's id, or by its `sid`. */
type EndingSession = { readonly id: string } | { readonly sid: string };

/**
 * **Ends a session as a confirmed write**: resolves when no isolate can decide without the end of its grants. If this Worker is lost, the session's
 * object revokes them; a repetition finds the remaining work and waits for it too. The session is listed at `/account` until then. Returns
 * `undefined` if the end was already confirmed.
 *
 * Cost: 1 object call and 1 D1 call; with grants 1 object call for each that has refresh tokens, 1 for each of their revocation shards, and 1 for
 * every 200 grants. Depth: the session, refresh families, revocation shards, the session, D1.
 */
export async function endSession(
  context: EndingContext,
  isolate: SessionEnder,
  which: EndingSession,
  reason: string,
): Promise<EndedSession | undefined> {
  const { sessions } = isolate;
  const ended = await ("id" in which
    ? sessions.end(context, which.id, reason)
    : sessions.endBySid(context, which.sid, reason));
  if (ended === undefined) return undefined;
  const { sid, sub } = ended.session;
  await revokeDue(context, isolate, { sid, clientId: undefined }, ended.due);
  await deleteUserSessions(context.env.DB, sub, [sid]);
  return ended;
}

/**
 * **Ends a client's part of a session**, after its consent was withdrawn or at its own request, also as a confirmed write. Returns the grants that
 * were ended. Cost: as above, without D1.
 */
export async function dismissClient(
  context: EndingContext,
  isolate: SessionEnder,
  part: { readonly sid: string; readonly clientId: string },
  reason: string,
): Promise<ReadonlySet<string>> {
  const due = await isolate.sessions.dismissClient(context, part.sid, part.clientId, reason);
  return revokeDue(context, isolate, part, due);
}

async function revokeDue(
  context: EndingContext,
  isolate: SessionEnder,
  { sid, clientId }: { readonly sid: string; readonly clientId: string | undefined },
  first: readonly GrantRevocation[],
): Promise<ReadonlySet<string>> {
  const ended = new Set<string>();
  for (let due = first; due.length > 0; ) {
    await revokeGrants(context, isolate, due);
    for (const { grant } of due) ended.add(grant.grantId);
    due = await isolate.sessions.acknowledgeRevoked(context, sid, clientId, due);
  }
  return ended;
}

/** The same in all sessions of a user, 20 at once. Cost: 1 D1 call for every 200 sessions, and for each those of {@link dismissClient}. */
export async function dismissClients(
  context: EndingContext,
  isolate: SessionEnder,
  { sub, clientId }: { readonly sub: string; readonly clientId: string },
  reason: string,
): Promise<void> {
  const dismiss = (sid: string) => dismissClient(context, isolate, { sid, clientId }, reason);
  for await (const sids of allUserSessions(context.env.DB, sub, context.arrivedAtMs)) await inBatches(sids, dismiss);
}

/** Ends sessions, 20 at once. Cost: for each session those of {@link endSession}. */
export function endSessions(
  context: EndingContext,
  isolate: SessionEnder,
  sids: readonly string[],
  reason: string,
): Promise<void> {
  return inBatches(sids, (sid) => endSession(context, isolate, { sid }, reason));
}

async function inBatches(sids: readonly string[], end: (sid: string) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < sids.length; start += batch) {
    await Promise.all(sids.slice(start, start + batch).map(end));
  }
}
