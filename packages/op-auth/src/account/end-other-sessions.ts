import type { Session } from "@edge-op/shared/users/session-rpc";
import { listUserSessions } from "../browser/user-sessions.ts";
import { endSession } from "../logout/end-session.ts";
import type { AccountRequest } from "./require-person.ts";

/** Sessions ended concurrently. */
const batch = 20;

/**
 * **Ends all sessions of a person except one.** Their clients are notified and their grants are revoked, as at any logout.
 * Cost: 1 D1 call, and for each session (at most 200) those of end-session.ts, 20 sessions at once.
 */
export async function endOtherSessions(at: AccountRequest, { sub, sid: kept }: Session, reason: string): Promise<void> {
  const sessions = await listUserSessions(at.context.env.DB, sub, at.context.arrivedAtMs);
  const others = sessions.map(({ sid }) => sid).filter((sid) => sid !== kept);
  await endSessions(at, others, reason);
}

export async function endSessions(
  { context, isolate }: AccountRequest,
  sids: readonly string[],
  reason: string,
): Promise<void> {
  for (let start = 0; start < sids.length; start += batch) {
    await Promise.all(sids.slice(start, start + batch).map((sid) => endSession(context, isolate, { sid }, reason)));
  }
}
