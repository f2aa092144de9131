import { endSessions } from "@edge-op/shared/endings/endings";
import type { Session } from "@edge-op/shared/sessions/session-rpc";
import { allUserSessions } from "@edge-op/shared/sessions/user-sessions";
import type { AccountRequest } from "./require-person.ts";

/**
 * **Ends all sessions of a person except one.** Their clients are notified and their grants are revoked, as at any logout.
 * Cost: 1 D1 call for every 200 sessions, and for each session those of endings.ts, 20 sessions at once.
 */
export async function endOtherSessions(
  { context, isolate }: AccountRequest,
  { sub, sid: kept }: Session,
  reason: string,
): Promise<void> {
  for await (const sids of allUserSessions(context.env.DB, sub, context.arrivedAtMs)) {
    const others = sids.filter((sid) => sid !== kept);
    await endSessions(context, isolate, others, reason);
  }
}
