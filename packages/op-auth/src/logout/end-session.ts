import { revokeGrants } from "@edge-op/shared/grants/revoke-grants";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { GrantRevocation } from "@edge-op/shared/leases/grant-revocation";
import type { EndedSession } from "@edge-op/shared/users/session-rpc";
import type { AuthEnv } from "../auth-env.ts";
import { deleteUserSession } from "../browser/user-sessions.ts";
import type { AuthIsolate } from "../isolate.ts";

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
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
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
  await deleteUserSession(context.env.DB, sub, sid);
  return ended;
}

/**
 * **Ends a client's part of a session**, after its consent was withdrawn or at its own request, also as a confirmed write. Returns the grants that
 * were ended. Cost: as above, without D1.
 */
export async function dismissClient(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  part: { readonly sid: string; readonly clientId: string },
  reason: string,
): Promise<ReadonlySet<string>> {
  const due = await isolate.sessions.dismissClient(context, part.sid, part.clientId, reason);
  return revokeDue(context, isolate, part, due);
}

async function revokeDue(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
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
