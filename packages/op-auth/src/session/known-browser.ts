/**
 * **Known browsers**: browsers in which a way in (the password of one account, or one passkey) has succeeded before, recorded in a cookie with a MAC
 * per way in. Attempts by strangers elsewhere do not throttle them (sign-in-limits.ts). A method defines its ways in as its name and an id. A second
 * cookie records who has signed in in the browser, with all that it took ({@link recordBrowser}). Cost: no I/O.
 */

import { type Browser, type CookieName, formatCookie, readCookie } from "@edge-op/pages/cookies";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { log } from "@edge-op/shared/runtime/log";
import { macText, verifyMac } from "@edge-op/shared/secrets/mac";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";

/** Five accounts, each with a password and a passkey. */
const waysInKept = 10;
const knownSeconds = 180 * 86_400;

export type WayIn = `${string}\n${string}`;

type KnownCookie = Extract<CookieName, "op-known" | "op-people" | "op-terms">;

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

/**
 * **Whether a person signs in in this browser for the first time** in 180 days. Only a sign-in that has opened a session makes it theirs, so a
 * password whose second factor is missing does not. Cost: no I/O.
 */
export async function isNewBrowser({ context, request }: PageRequest, browser: Browser, sub: string): Promise<boolean> {
  return !(await isKnownBrowser(context, request, browser, wayInOf(sub), "op-people"));
}

export interface SigningIn {
  readonly browser: Browser;
  readonly startedAtMs: number;
  /** Absent if the sign-in did not depend on it. */
  readonly isNewBrowser: boolean | undefined;
  /** The version of the terms that the person has agreed to. */
  readonly terms?: string | undefined;
}

/**
 * **Records that a person has signed in in this browser, and tells them if it is new** (`NEW_BROWSER`): in the background, so no sign-in waits for
 * mail. The account is not told of the browser in which it came into being, since `startedAtMs`. Returns the `Set-Cookie` value. Cost: 0; for a new
 * browser 1 D1 call and those of tell-person.ts in the background.
 */
export async function recordBrowser(
  at: PageRequest,
  sub: string,
  { browser, startedAtMs, isNewBrowser: isNew }: SigningIn,
): Promise<string | undefined> {
  const { context, request } = at;
  if (readDeployment(context.env).newBrowser === "off") return undefined;
  if (context.settings.mailProvider !== "off" && (isNew ?? (await isNewBrowser(at, browser, sub)))) {
    context.waitUntil(tellOfBrowser(at, sub, startedAtMs));
  }
  return rememberBrowser(context, request, browser, wayInOf(sub), "op-people");
}

async function tellOfBrowser({ context, isolate }: PageRequest, sub: string, startedAtMs: number): Promise<void> {
  try {
    const claims = (await isolate.users.find(context, sub))?.claims ?? {};
    const used = { action: "account.new_browser", target: sub, actor: sub };
    const ifFound = `EXISTS (SELECT 1 FROM users WHERE sub = ?3 AND created_at_ms < ${startedAtMs})`;
    const isTold = await tellPerson(context, { sub, claims, kind: "new-browser", evidence: used }, async () => {
      const { meta } = await queryDatabase(() => recordAdminEvent(context, used, { ifFound }).run());
      return meta.changes === 1;
    });
    if (isTold) wakeAuditLog(context);
  } catch (cause) {
    log("person-not-told", { cause: String(cause), requestId: context.requestId });
  }
}

function wayInOf(sub: string): WayIn {
  return `person\n${sub}`;
}
