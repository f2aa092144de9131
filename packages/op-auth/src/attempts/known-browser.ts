/**
 * **Known browsers**: browsers in which a way in (the password of one account, or one passkey) has succeeded before, recorded in a cookie with a MAC
 * per way in. Attempts by strangers elsewhere do not throttle them (sign-in-limits.ts). A method defines its ways in as its name and an id. A second
 * cookie records who has signed in in the browser, with all that it took (session/new-browser.ts). Cost: no I/O.
 */

import { type Browser, type CookieName, formatCookie, readCookie } from "@edge-op/pages/cookies";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { macText, verifyMac } from "@edge-op/shared/secrets/mac";
import type { AuthEnv } from "../auth-env.ts";

/** Five accounts, each with a password and a passkey. */
const waysInKept = 10;
const knownSeconds = 180 * 86_400;

export type WayIn = `${string}\n${string}`;

type KnownCookie = Extract<CookieName, "op-known" | "op-people">;

/** The `Set-Cookie` value that adds a way in to those of this browser. */
export async function rememberBrowser(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  browser: Browser,
  wayIn: WayIn,
  cookie: KnownCookie = "op-known",
): Promise<string> {
  const tag = await macText(context.env, "cookie-mac", knownText(browser, wayIn));
  const others = knownTags(context, request, cookie).filter((other) => other !== tag);
  return formatCookie(context, cookie, [tag, ...others].slice(0, waysInKept).join("."), knownSeconds);
}

export async function isKnownBrowser(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  browser: Browser,
  wayIn: WayIn,
  cookie: KnownCookie = "op-known",
): Promise<boolean> {
  const checks = knownTags(context, request, cookie).map((tag) =>
    verifyMac(context.env, "cookie-mac", knownText(browser, wayIn), tag),
  );
  return (await Promise.all(checks)).includes(true);
}

function knownTags(context: RequestContext<AuthEnv>, request: ReceivedRequest, cookie: KnownCookie): string[] {
  return readCookie(context, request, cookie)?.split(".").slice(0, waysInKept) ?? [];
}

function knownText(browser: Browser, wayIn: WayIn): string {
  return `known\n${browser.id}\n${wayIn}`;
}
