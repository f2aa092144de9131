import type { Browser } from "@edge-op/pages/cookies";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { log } from "@edge-op/shared/runtime/log";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { isKnownBrowser, rememberBrowser, type WayIn } from "../attempts/known-browser.ts";
import { readDeployment } from "../deployment.ts";
import type { FlowRequest } from "../steps/step.ts";

/**
 * **Whether a person signs in in this browser for the first time** in 180 days. Only a sign-in that has opened a session makes it theirs, so a password
 * whose second factor is missing does not. Cost: no I/O.
 */
export async function isNewBrowser({ context, request }: FlowRequest, browser: Browser, sub: string): Promise<boolean> {
  return !(await isKnownBrowser(context, request, browser, wayInOf(sub), "op-people"));
}

export interface SigningIn {
  readonly browser: Browser;
  readonly startedAtMs: number;
  /** Absent if the sign-in did not depend on it. */
  readonly isNewBrowser: boolean | undefined;
}

/**
 * **Records that a person has signed in in this browser, and tells them if it is new** (`NEW_BROWSER`): in the background, so no sign-in waits for mail. The account
 * is not told of the browser in which it came into being, since `startedAtMs`. Returns the `Set-Cookie` value. Cost: 0; for a new browser 1 D1 call and those of
 * tell-person.ts in the background.
 */
export async function recordBrowser(
  at: FlowRequest,
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

async function tellOfBrowser({ context, isolate }: FlowRequest, sub: string, startedAtMs: number): Promise<void> {
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
