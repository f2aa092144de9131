import { type GrantRevocation, grantRevocationRequests, type PlacedRequest } from "../grants/grant-revocation.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { RevocationBindings, RevocationView } from "../leases/revocation-view.ts";
import type { RefreshFamilies, RefreshFamilyBindings } from "../refresh/refresh-families.ts";
import { nowMs } from "../runtime/clock.ts";
import type { EndedSession } from "../sessions/session-rpc.ts";
import type { SessionBindings, Sessions } from "../sessions/sessions.ts";
import { allUserSessions, deleteUserSessions } from "../sessions/user-sessions.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { objectName } from "../storage/shard-address.ts";
import { deleteConsent, emptyConsent } from "../users/consents.ts";
import { deleteOfflineGrants, listOfflineGrants, type OfflineGrant } from "../users/offline-grants.ts";

/** The memory of an isolate that revokes grants. */
export interface Revoking {
  readonly refreshFamilies: Pick<RefreshFamilies, "end">;
  readonly revocation: Pick<RevocationView, "revoke">;
}

/**
 * **Revokes grants as a confirmed write**: resolves when every isolate decides with it. The refresh family of each ends before its rows are written
 * (ADR 16). If a family's shard does not respond, the other grants are revoked, and the failure is thrown. Cost: 1 object call for each grant with
 * refresh tokens, then 1 for each revocation shard; depth 2.
 */
export async function revokeGrants(
  context: RequestContext<RefreshFamilyBindings & RevocationBindings>,
  isolate: Revoking,
  due: readonly GrantRevocation[],
): Promise<void> {
  const ends = await Promise.allSettled(due.map((each) => isolate.refreshFamilies.end(context, each)));
  const ended = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
  await revokeAtPlaces(
    context,
    isolate,
    ended.flatMap((each) => grantRevocationRequests(each, nowMs())),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Sends the requests of all places at the same time, one call for each shard; resolves when all are in force. Cost: 1 object call for each shard. */
export async function revokeAtPlaces(
  context: RequestContext<RevocationBindings>,
  { revocation }: Pick<Revoking, "revocation">,
  placed: readonly PlacedRequest[],
): Promise<void> {
  const byShard = Map.groupBy(placed, ({ address }) => objectName("revocation", address));
  await Promise.all(
    [...byShard.values()].map((all) =>
      revocation.revoke(
        context,
        all[0]!.address,
        all.map(({ request }) => request),
      ),
    ),
  );
}

type EndingContext = RequestContext<SessionBindings & RefreshFamilyBindings & RevocationBindings>;

/** The memory of an isolate that ends sessions. */
interface SessionEnder extends Revoking {
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
async function dismissClients(
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

/** By the party that ends the access: the reason of the revocations, and the reason that the client's logout tokens are recorded with. */
const endings = {
  consent_withdrawn: "consent taken back",
  administrator: "ended by an administrator",
} as const;

interface Withdrawal {
  readonly sub: string;
  readonly clientId: string;
  readonly by: keyof typeof endings;
}

/**
 * **Ends a client's access to a user, consented or first-party**: empties the consent, removes the client from each session, revokes the offline
 * grants, and deletes the consent last. After a failure in between, it is still listed and can be ended again. `event` is written with the deletion.
 *
 * The order is what ends a request that is under way: it admits its client to the session after its grant is listed. Either the list has the grant,
 * or the session refuses the client. A session that is not listed yet is refused by D1, because the consent is empty; one that begins with a client
 * that needs none begins after the withdrawal.
 *
 * Cost: 4 D1 calls, 1 more for every 200 sessions, 1 object call for each session, and those of {@link endSession} and of {@link revokeGrants}.
 */
export async function withdrawConsent(
  context: EndingContext,
  isolate: SessionEnder,
  { sub, clientId, by }: Withdrawal,
  event?: D1PreparedStatement,
): Promise<void> {
  const { DB } = context.env;
  await emptyConsent(DB, sub, clientId, context.arrivedAtMs);
  await dismissClients(context, isolate, { sub, clientId }, endings[by]);
  const grants = await listOfflineGrants(DB, sub, clientId);
  await revokeOfflineGrants(context, isolate, by, grants);
  // The event comes first: its condition (`hasAccess`) sees the rows.
  const events = event === undefined ? [] : [event];
  const forgotten = [deleteOfflineGrants(DB, sub, grants), deleteConsent(DB, sub, clientId)];
  await queryDatabase(() => peopleOf(DB).batch([...events, ...forgotten]));
}

/** Cost: that of {@link revokeGrants}. Their rows stay. */
export async function revokeOfflineGrants(
  context: EndingContext,
  isolate: SessionEnder,
  reason: keyof typeof endings,
  grants: readonly OfflineGrant[],
): Promise<void> {
  const due = grants.map(({ clientId, untilMs, family, ...grant }) => ({ grant, clientId, reason, untilMs, family }));
  await revokeGrants(context, isolate, due);
}
