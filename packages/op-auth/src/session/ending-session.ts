import { formatCookie } from "@edge-op/pages/cookies";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";

const mark = "ending.";

/**
 * **Signs a browser out although the end of its session could not be confirmed**: the 503 replaces the session id in the cookie with a sealed
 * reference, which opens no session. With it, the next logout or sign-in of this browser ends the session again and waits for the remaining work.
 */
export async function whileEnding<T>(
  context: RequestContext<AuthEnv>,
  sessionId: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    const reference = mark + (await sealText(context.env, "session-seal", sessionId));
    const lifetimeSeconds = readDeployment(context.env).session.absoluteMs / 1000;
    const cookie = formatCookie(context, "op-session", reference, lifetimeSeconds);
    throw new UnavailableError(error.store, error.cause, { ...error.headers, "Set-Cookie": cookie });
  }
}

/** The session of a reference; `undefined` for any other cookie value. */
export async function readEnding(
  context: RequestContext<AuthEnv>,
  cookie: string | undefined,
): Promise<string | undefined> {
  if (cookie === undefined || !cookie.startsWith(mark)) return undefined;
  return openSealed(context.env, "session-seal", cookie.slice(mark.length));
}
