import type { RequestContext } from "@edge-op/shared/http/request-context";
import { isCutOffByRecords, sessionSubject } from "@edge-op/shared/leases/revocation-subject";
import type { Session } from "@edge-op/shared/sessions/session-rpc";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";

/**
 * **The user of a session that rests on a control version**, if the user is active and was not cut off after signing in: "revoke everything of this
 * subject" ends sessions too. Every revocation shard holds the cut-offs of the last day, and the one that the isolate calls anyway is read; the
 * user's record contains the earlier ones (ADR 28). If the version was confirmed for this request (`isConfirmed`), no cut-off that was in force when
 * the request arrived is newer, and none is read. `mayLeave`: also a person who has asked to delete their account, for the steps of a sign-in. `reading`:
 * the record, where it is read anyway.
 * Cost warm: 0 calls (`direct`: 1 object call).
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
