import { endSessions } from "@edge-op/shared/grants/end-session";
import type { Session } from "@edge-op/shared/users/session-rpc";
import { listUserSessions } from "@edge-op/shared/users/user-sessions";
import type { AccountRequest } from "./require-person.ts";

/**
 * **Ends all sessions of a person except one.** Their clients are notified and their grants are revoked, as at any logout.
 * Cost: 1 D1 call, and for each session (at most 200) those of end-session.ts, 20 sessions at once.
 */
export async function endOtherSessions(
  { context, isolate }: AccountRequest,
  { sub, sid: kept }: Session,
  reason: string,
): Promise<void> {
  const sessions = await listUserSessions(context.env.DB, sub, context.arrivedAtMs);
  const others = sessions.map(({ sid }) => sid).filter((sid) => sid !== kept);
  await endSessions(context, isolate, others, reason);
}
