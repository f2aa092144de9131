import { readCookie } from "@edge-op/pages/cookies";
import { readAhead } from "@edge-op/shared/callers/read-ahead";
import { settle } from "@edge-op/shared/control/settle";
import { type RequestContext, withMembers } from "@edge-op/shared/http/request-context";
import { isCutOffByRecords, sessionSubject } from "@edge-op/shared/leases/revocation-subject";
import type { Session, SessionContents } from "@edge-op/shared/sessions/session-rpc";
import { sessionVersion } from "@edge-op/shared/sessions/sessions";
import type { User } from "@edge-op/shared/users/user";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import type { Basis } from "./write-as.ts";

export interface SignedInPerson extends SessionContents {
  readonly sessionId: string;
  readonly user: User;
}

/** What a write of the signed-in person rests on. */
export function basisOf({ user: { sub }, session: { sid }, sessionId }: SignedInPerson): Basis {
  return { sub, sid, version: sessionVersion(sessionId) };
}

/**
 * **The session of a browser's cookie and its user**, for pages: a decision of its own, so that it may be made beside another one of the same
 * request. Cost: 1 object call. Calls that follow one another: 3 in a cold isolate, 2 after a pause, 1 in a busy one; none without a cookie.
 */
export async function decidePerson({ context, isolate, request }: PageRequest): Promise<SignedInPerson | undefined> {
  const sessionId = readCookie(context, request, "op-session");
  if (sessionId === undefined) return undefined;
  const own = withMembers<AuthEnv>(context, { progress: { controlConfirmed: false } });
  const { keyRing, ...withoutKeys } = isolate;
  const begun = readAhead(own, withoutKeys, request);
  return settle(own, isolate, () => findPerson(own, isolate, sessionId), begun);
}

async function findPerson(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  sessionId: string,
): Promise<SignedInPerson | undefined> {
  const contents = await isolate.sessions.read(context, sessionId);
  if (contents === undefined) return undefined;
  const user = await findSignedInUser(context, isolate, sessionVersion(sessionId), contents.session);
  return user && { ...contents, sessionId, user };
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
