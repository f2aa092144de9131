import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { OpenedSession, SignIn } from "@edge-op/shared/users/sessions";
import type { AuthEnv } from "../auth-env.ts";
import { formatCookie, readCookie } from "../browser/cookies.ts";
import { readEnding, whileEnding } from "../browser/ending-session.ts";
import { saveUserSession } from "../browser/user-sessions.ts";
import { readDeployment } from "../deployment.ts";
import type { AuthIsolate } from "../isolate.ts";
import { endSession } from "../logout/end-session.ts";
import { describeDevice } from "./describe-device.ts";
import { placeOf } from "./place-of.ts";

/**
 * **Opens a session for this browser**, always with a new id (session fixation, RFC 6265 §8.4). If the same person was signed in, the `sid`
 * that clients know stays the same; another person's session ends, and its clients are notified. A session that a change of its user has
 * ended meanwhile ends before the browser gets its cookie (ADR 16). Cost: 1–2 object calls, 1 D1 call; those of end-session.ts where a
 * session ends.
 */
export async function openSession(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  signIn: SignIn,
  clientId?: string,
): Promise<OpenedSession & { readonly cookie: string }> {
  const lifetime = readDeployment(context.env).session;
  const openNew = () => isolate.sessions.open(context, signIn, lifetime, clientId);
  let opened = (await renewOrEnd(context, isolate, request, signIn, clientId)) ?? (await openNew());
  let saved = await save(context, request, signIn, opened);
  if (saved === "ending") {
    // The renewed session is being ended, but this sign-in is still valid, so it gets a session of its own.
    await endAsChanged(context, isolate, opened);
    opened = await openNew();
    saved = await save(context, request, signIn, opened);
  }
  if (saved !== "stored") await endAsChanged(context, isolate, opened);
  return { ...opened, cookie: formatCookie(context, "op-session", opened.id, lifetime.absoluteMs / 1000) };
}

function save(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  { sub, version }: SignIn,
  { session: { sid, signedInAtMs, endsAtMs } }: OpenedSession,
): ReturnType<typeof saveUserSession> {
  const device = describeDevice(request.headers.get("user-agent"));
  const session = { sid, device, signedInAtMs, endsAtMs, ...placeOf(context) };
  return saveUserSession(context.env.DB, sub, session, version);
}

async function endAsChanged(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  { session }: OpenedSession,
): Promise<void> {
  await endSession(context, isolate, { sid: session.sid }, "ended by a change during the sign-in");
}

async function renewOrEnd(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  signIn: SignIn,
  clientId: string | undefined,
): Promise<OpenedSession | undefined> {
  const cookie = readCookie(context, request, "op-session");
  if (cookie === undefined) return undefined;
  const ending = await readEnding(context, cookie);
  const old = ending === undefined ? await isolate.sessions.read(context, cookie) : undefined;
  if (old !== undefined && old.session.sub === signIn.sub) {
    const lifetime = readDeployment(context.env).session;
    const renewed = await isolate.sessions.renew(
      context,
      { id: cookie, session: old.session },
      signIn,
      lifetime,
      clientId,
    );
    if (renewed !== undefined) return renewed;
  }
  // Also for an ended session, which may have remaining work.
  const id = ending ?? cookie;
  await whileEnding(context, id, () => endSession(context, isolate, { id }, "someone signed in anew"));
  return undefined;
}
