/**
 * **The cookies of this origin**: `op-session` contains the session's id, `op-accounts` those of all sessions of this browser, if there are several
 * (session/browser-accounts.ts), `op-browser` a random secret to which interactions are bound, `op-known` the ways in that have succeeded in this
 * browser (session/known-browser.ts), `op-device` the people who need no second factor in it (factors/remembered-device.ts), `op-people` those who
 * have signed in in it (session/known-browser.ts), `op-terms` who has agreed to which terms (session/agreed-terms.ts), `op-language` the chosen
 * language, `op-notice` what the account page says next, `op-console` the session of an administrator in the console, `op-organization` that of a
 * member who administers their own organisation. `__Host-` under https, so that no other host can set one; HttpOnly; Lax, so that a link from a
 * client to `/authorize` sends them and a foreign form does not.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6265#section-4.1
 */

import { encodeBase64Url, randomBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";

export type CookieName =
  | "op-session"
  | "op-accounts"
  | "op-browser"
  | "op-known"
  | "op-people"
  | "op-terms"
  | "op-device"
  | "op-notice"
  | "op-language"
  | "op-console"
  | "op-organization";

function isSecure(context: RequestContext<unknown>): boolean {
  return context.settings.issuer.startsWith("https:");
}

function fullName(context: RequestContext<unknown>, name: CookieName): string {
  return isSecure(context) ? `__Host-${name}` : name;
}

export function readCookie(
  context: RequestContext<unknown>,
  request: ReceivedRequest,
  name: CookieName,
): string | undefined {
  const wanted = fullName(context, name);
  for (const pair of (request.headers.get("cookie") ?? "").split(";")) {
    const separator = pair.indexOf("=");
    if (pair.slice(0, separator).trim() === wanted) return pair.slice(separator + 1).trim() || undefined;
  }
  return undefined;
}

/** A `Set-Cookie` value. */
export function formatCookie(
  context: RequestContext<unknown>,
  name: CookieName,
  value: string,
  maxAgeSeconds: number,
): string {
  const secure = isSecure(context) ? "; Secure" : "";
  return `${fullName(context, name)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

export function clearCookie(context: RequestContext<unknown>, name: CookieName): string {
  return formatCookie(context, name, "", 0);
}

/** The longest time for which browsers keep a cookie. */
export const browserCookieSeconds = 400 * 86_400;

export interface Browser {
  /** Hash of the browser's secret. Interactions are stored with it. */
  readonly id: string;
  readonly setCookie: string | undefined;
}

/** Identifies the browser, and creates its cookie if it has none. */
export async function identifyBrowser(context: RequestContext<unknown>, request: ReceivedRequest): Promise<Browser> {
  const held = readCookie(context, request, "op-browser");
  const secret = held !== undefined && /^[A-Za-z0-9_-]{43}$/.test(held) ? held : randomBase64Url(32);
  const id = encodeBase64Url(await sha256(secret));
  const setCookie = secret === held ? undefined : formatCookie(context, "op-browser", secret, browserCookieSeconds);
  return { id, setCookie };
}
