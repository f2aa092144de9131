import { clearCookie, formatCookie, readCookie } from "@edge-op/pages/cookies";
import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import type { OwnEnv } from "../api/console-call.ts";

/**
 * **A signed-in administrator**, sealed in the cookie `op-console`, or in `op-organization` if they administer their own organisation: nothing is
 * stored. The access token in it ends with the session at the provider, with the grant and with the person's rights, so a stolen cookie is worth no
 * more than the token. Cost: 0.
 */
export interface ConsoleSession {
  /** Random: forms are bound to it. */
  readonly id: string;
  readonly token: string;
  readonly expiresAtMs: number;
  readonly sub: string;
  readonly name: string;
  /**
   * The scopes of the token that are permissions of the person, or the permissions of a member, at the sign-in: what is shown. The API decides what
   * is allowed.
   */
  readonly scopes: readonly string[];
  /** The organisation that the person administers as its member. */
  readonly orgId?: string | undefined;
}

/** The two kinds of sessions have cookies of their own: one person may have both. */
const cookieOf = (orgId: string | undefined) => (orgId === undefined ? "op-console" : "op-organization");

const isSession = objectOf<ConsoleSession>({
  id: isText,
  token: isText,
  expiresAtMs: isNumber,
  sub: isText,
  name: isText,
  scopes: listOf(isText),
});

/** Browsers keep cookies of 4,096 bytes, name and attributes included. */
const longestCookie = 4000;

export async function sessionCookie(context: RequestContext<OwnEnv>, session: ConsoleSession): Promise<string> {
  const sealed = await sealText(context.env, "console-seal", JSON.stringify(session), { bound: "session" });
  const seconds = Math.max(0, Math.floor((session.expiresAtMs - context.arrivedAtMs) / 1000));
  const cookie = formatCookie(context, cookieOf(session.orgId), sealed, seconds);
  if (cookie.length > longestCookie) throw new Error(`the console's cookie has ${cookie.length} bytes`);
  return cookie;
}

/** The session of the browser; `undefined` for none, one that has expired or is of another organisation, and one that this provider has not made. */
export async function readSession(
  context: RequestContext<OwnEnv>,
  request: ReceivedRequest,
  orgId?: string,
): Promise<ConsoleSession | undefined> {
  const sealed = readCookie(context, request, cookieOf(orgId));
  const text = sealed && (await openSealed(context.env, "console-seal", sealed, "session"));
  if (!text) return undefined;
  const session = readStored("console session", text, isSession);
  return session.orgId === orgId && session.expiresAtMs > context.arrivedAtMs ? session : undefined;
}

export function endSessionCookie(context: RequestContext<OwnEnv>, orgId: string | undefined): string {
  return clearCookie(context, cookieOf(orgId));
}
