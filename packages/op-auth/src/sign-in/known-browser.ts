import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { macText, verifyMac } from "@edge-op/shared/secrets/mac";
import type { AuthEnv } from "../auth-env.ts";
import { type Browser, formatCookie, readCookie } from "../browser/cookies.ts";

/** Five accounts, each by password and by passkey. */
const waysInKept = 10;
const knownSeconds = 180 * 86_400;

/**
 * **Browsers that someone has signed in with before**, by a cookie with a MAC for each way in (an account's password, or one
 * passkey): what strangers do elsewhere does not count against them (sign-in-limits.ts). Cost: no I/O.
 */
export type WayIn = `password\n${string}` | `passkey\n${string}`;

export function passwordWayIn(sub: string): WayIn {
  return `password\n${sub}`;
}

export function passkeyWayIn(credentialId: string): WayIn {
  return `passkey\n${credentialId}`;
}

/** The cookie that makes this browser a known one for a way in, beside those it knows already. */
export async function rememberBrowser(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  browser: Browser,
  wayIn: WayIn,
): Promise<string> {
  const tag = await macText(context.env, "cookie-mac", knownText(browser, wayIn));
  const others = knownTags(context, request).filter((other) => other !== tag);
  return formatCookie(context, "op-known", [tag, ...others].slice(0, waysInKept).join("."), knownSeconds);
}

export async function isKnownBrowser(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  browser: Browser,
  wayIn: WayIn,
): Promise<boolean> {
  const checks = knownTags(context, request).map((tag) =>
    verifyMac(context.env, "cookie-mac", knownText(browser, wayIn), tag),
  );
  return (await Promise.all(checks)).includes(true);
}

function knownTags(context: RequestContext<AuthEnv>, request: ReceivedRequest): string[] {
  return readCookie(context, request, "op-known")?.split(".").slice(0, waysInKept) ?? [];
}

function knownText(browser: Browser, wayIn: WayIn): string {
  return `known\n${browser.id}\n${wayIn}`;
}
