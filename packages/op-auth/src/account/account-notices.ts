import { clearCookie, formatCookie, readCookie } from "@edge-op/pages/cookies";
import { redirect } from "@edge-op/pages/respond-page";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthKey } from "../pages/messages.ts";
import { type AccountArea, accountPages, pageOf } from "./account-areas.ts";

interface Notice {
  readonly page: AccountArea;
  readonly isGood: boolean;
  readonly text: AuthKey;
}

/** **Notices of the account pages after an action**, and the page that shows each. */
export const accountNotices = {
  "passkey-added": { page: "security", isGood: true, text: "account.passkeyAdded" },
  "passkey-failed": { page: "security", isGood: false, text: "account.passkeyFailed" },
  "passkey-renamed": { page: "security", isGood: true, text: "account.passkeyRenamed" },
  "passkey-not-renamed": { page: "security", isGood: false, text: "account.passkeyNotRenamed" },
  "access-removed": { page: "applications", isGood: true, text: "account.accessRemoved" },
  "session-ended": { page: "applications", isGood: true, text: "account.sessionEnded" },
  "others-ended": { page: "applications", isGood: true, text: "account.othersEnded" },
  "app-added": { page: "security", isGood: true, text: "account.appAdded" },
  "codes-made": { page: "security", isGood: true, text: "account.codesMade" },
  "factor-removed": { page: "security", isGood: true, text: "account.factorRemoved" },
  "last-way-in": { page: "security", isGood: false, text: "account.lastWayIn" },
  "name-changed": { page: "you", isGood: true, text: "account.nameChanged" },
  "name-not-changed": { page: "you", isGood: false, text: "account.nameNotChanged" },
  "language-changed": { page: "you", isGood: true, text: "account.languageChanged" },
  "address-changed": { page: "you", isGood: true, text: "account.addressChanged" },
  "address-not-changed": { page: "you", isGood: false, text: "account.addressNotChanged" },
  "address-added": { page: "you", isGood: true, text: "account.addressAdded" },
  "address-not-added": { page: "you", isGood: false, text: "account.addressNotAdded" },
  "address-removed": { page: "you", isGood: true, text: "account.addressRemoved" },
  "identity-connected": { page: "security", isGood: true, text: "account.identityConnected" },
  "identity-not-connected": { page: "security", isGood: false, text: "account.identityNotConnected" },
  "identity-taken": { page: "security", isGood: false, text: "account.identityTaken" },
  "identity-disconnected": { page: "security", isGood: true, text: "account.identityDisconnected" },
  "last-identity": { page: "security", isGood: false, text: "account.lastIdentity" },
  "not-changed": { page: "you", isGood: false, text: "account.notChanged" },
  "too-many-changes": { page: "you", isGood: false, text: "account.tooManyChanges" },
  "recovery-stopped": { page: "you", isGood: true, text: "byAddress.stopped" },
  "password-changed": { page: "security", isGood: true, text: "account.passwordChanged" },
} as const satisfies Readonly<Record<string, Notice>>;

export type AccountNotice = keyof typeof accountNotices;

/** As long as a person may look at the page before the one that shows it: that of new recovery codes. */
const noticeSeconds = 600;

type Context = PageRequest["context"];

/** **The cookie that names a notice**, so that it is shown once: no reload, bookmark or link of somebody else repeats it. */
export function noticeCookie(context: Context, notice: AccountNotice): string {
  return formatCookie(context, "op-notice", notice, noticeSeconds);
}

/** Redirects to the page of a notice, or to another one, which shows it. */
export function accountWith(
  context: Context,
  notice: AccountNotice,
  {
    cookies = [],
    path = accountPages[accountNotices[notice].page],
  }: { cookies?: readonly string[]; path?: string } = {},
): Response {
  return redirect(path, [...cookies, noticeCookie(context, notice)]);
}

/** The same for a notice of several areas: to the page of the form. */
export function backWith({ context, request }: PageRequest, notice: AccountNotice): Response {
  return accountWith(context, notice, { path: pageOf(new URL(request.url).pathname) });
}

/** The notice that a page shows, and the cookie that ends it; neither for an unknown name. */
export function takeNotice({ context, request }: PageRequest): {
  readonly notice?: AccountNotice;
  readonly cookies: readonly string[];
} {
  const name = readCookie(context, request, "op-notice");
  if (name === undefined) return { cookies: [] };
  const cookies = [clearCookie(context, "op-notice")];
  return Object.hasOwn(accountNotices, name) ? { notice: name as AccountNotice, cookies } : { cookies };
}
