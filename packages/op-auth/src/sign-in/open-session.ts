import { deleteUserSession, saveUserSession } from "@edge-op/shared/directory/consents";
import type { OpenedSession, SignIn } from "@edge-op/shared/grants/sessions";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../auth-env.ts";
import { formatCookie, readCookie } from "../browser/cookies.ts";
import { readDeployment } from "../deployment.ts";
import type { AuthIsolate } from "../isolate.ts";
import { describeDevice } from "./describe-device.ts";
import { placeOf } from "./place-of.ts";

/**
 * **Opens a session for this browser**, always with a new id (session fixation, RFC 6265 §8.4). If the same person was signed in, the `sid`
 * that clients know stays the same; another person's session ends, and its clients are notified. A session that a change of its user has
 * ended meanwhile ends before the browser gets its cookie (ADR 54). Cost: 2–3 object calls, 1–2 D1 calls.
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
    // What was renewed is ending, but this sign-in rests on what is in force: it gets a session of its own.
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
  await isolate.sessions.endBySid(context, session.sid, "ended by a change during the sign-in");
}

async function renewOrEnd(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  signIn: SignIn,
  clientId: string | undefined,
): Promise<OpenedSession | undefined> {
  const id = readCookie(context, request, "op-session");
  const old = id === undefined ? undefined : await isolate.sessions.read(context, id);
  if (id === undefined || old === undefined) return undefined;
  const { session } = old;
  const lifetime = readDeployment(context.env).session;
  if (session.sub === signIn.sub) {
    const renewed = await isolate.sessions.renew(context, { id, session }, signIn, lifetime, clientId);
    if (renewed !== undefined) return renewed;
  }
  await isolate.sessions.end(context, id, "someone signed in anew");
  await deleteUserSession(context.env.DB, session.sub, session.sid);
  return undefined;
}
