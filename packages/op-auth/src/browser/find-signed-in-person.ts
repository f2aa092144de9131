import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { SessionContents } from "@edge-op/shared/users/session-rpc";
import { sessionVersion } from "@edge-op/shared/users/sessions";
import type { User } from "@edge-op/shared/users/user";
import type { AuthEnv } from "../auth-env.ts";
import type { AuthIsolate } from "../isolate.ts";
import { readCookie } from "./cookies.ts";
import { findSignedInUser } from "./find-signed-in-user.ts";

export interface SignedInPerson extends SessionContents {
  readonly sessionId: string;
  readonly user: User;
}

/** **The session of a browser's cookie and its user**, for pages. Cost: 1 object call. */
export async function findSignedInPerson(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<SignedInPerson | undefined> {
  const sessionId = readCookie(context, request, "op-session");
  const contents = sessionId === undefined ? undefined : await isolate.sessions.read(context, sessionId);
  if (sessionId === undefined || contents === undefined) return undefined;
  const user = await findSignedInUser(context, isolate, sessionVersion(sessionId), contents.session);
  return user && { ...contents, sessionId, user };
}
