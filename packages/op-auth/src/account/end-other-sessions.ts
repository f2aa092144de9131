import { deleteUserSession, listUserSessions } from "@edge-op/shared/directory/consents";
import type { Session } from "@edge-op/shared/objects/session-store";
import type { AccountRequest } from "./require-person.ts";

/** Sessions ended concurrently. */
const batch = 20;

/**
 * **Ends all sessions of a person except one.** Their clients are notified and their grants are revoked, as at any logout.
 * Cost: 1 D1 call, and 1 object call and 1 D1 call per session (at most 200).
 */
export async function endOtherSessions(
  { context, isolate }: AccountRequest,
  { sub, sid: kept }: Session,
  reason: string,
): Promise<void> {
  const sessions = await listUserSessions(context.env.DB, sub, context.arrivedAtMs);
  const others = sessions.filter(({ sid }) => sid !== kept);
  for (let start = 0; start < others.length; start += batch) {
    await Promise.all(
      others.slice(start, start + batch).map(async ({ sid }) => {
        await isolate.sessions.endBySid(context, sid, reason);
        await deleteUserSession(context.env.DB, sub, sid);
      }),
    );
  }
}
