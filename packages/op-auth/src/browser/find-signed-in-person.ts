import { readCookie } from "@edge-op/pages/cookies";
import { readAhead } from "@edge-op/shared/callers/read-ahead";
import { settle } from "@edge-op/shared/control/settle";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import { type RequestContext, withMembers } from "@edge-op/shared/http/request-context";
import type { SessionContents } from "@edge-op/shared/sessions/session-rpc";
import { sessionVersion } from "@edge-op/shared/sessions/sessions";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import type { Basis } from "../person/write-as.ts";
import { findSignedInUser } from "./find-signed-in-user.ts";

interface PersonRequest {
  readonly context: RequestContext<AuthEnv>;
  readonly isolate: AuthIsolate;
  readonly request: ReceivedRequest;
}

export interface SignedInPerson extends SessionContents {
  readonly sessionId: string;
  readonly user: User;
}

/** What a write of the signed-in person rests on. */
export function basisOf({ user: { sub }, session: { sid }, sessionId }: SignedInPerson): Basis {
  return { sub, sid, version: sessionVersion(sessionId) };
}

/**
 * **The session of a browser's cookie and its user**, for pages: a decision of its own, so that it may be made in parallel with another one of the same request.
 * Cost: 1 object call. Calls that follow one another: 3 in a cold isolate, 2 after a pause, 1 in a busy one; none without a cookie.
 */
export async function decidePerson({ context, isolate, request }: PersonRequest): Promise<SignedInPerson | undefined> {
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
