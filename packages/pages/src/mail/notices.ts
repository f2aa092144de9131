import type { NoticeKind } from "@edge-op/shared/mail/mail-sender-rpc";
import {
  describeFacts,
  describeTime,
  type MailBlock,
  type MailContent,
  type MailFacts,
  type MailFrame,
  type MailKey,
  type MailTranslator,
} from "./mail-parts.ts";

export interface NoticeDescription {
  readonly title: MailKey;
  /** `provider`: what time has brought about, or an invitation. */
  readonly by: "person" | "administrator" | "provider";
  /** What the person does if it was not them, or if they did not expect it. */
  readonly advice: MailKey;
  /** The page on which they do it: a path of this provider, and the text of the link to it. Absent if there is no account any more. */
  readonly page?: readonly [path: string, text: MailKey];
}

const password = ["/account/password", "mail.toPassword"] as const;
const passkeys = ["/account/security#passkeys", "mail.toPasskeys"] as const;
const factors = ["/account/security#factors", "mail.toFactors"] as const;
const codes = ["/account/recovery-codes", "mail.toCodes"] as const;
const identities = ["/account/security#identities", "mail.toIdentities"] as const;
const addresses = ["/account#addresses", "mail.toAddresses"] as const;
const sessions = ["/account/applications#sessions", "mail.toSessions"] as const;
const account = ["/account", "mail.account"] as const;
const security = ["/account/security", "mail.toSecurity"] as const;
const keep = ["/account", "mail.keepAccount"] as const;

const person = (title: MailKey, advice: MailKey, page: NoticeDescription["page"] & {}) =>
  ({ title, by: "person", advice, page }) as const;
const administrator = (title: MailKey, page: NoticeDescription["page"] & {}) =>
  ({ title, by: "administrator", advice: "mail.byAdministrator", page }) as const;

/** **What each notice says and where it leads.** To add a kind, add its row, and its title and advice to the texts. */
export const noticeDescriptions: Readonly<Record<NoticeKind, NoticeDescription>> = {
  "password-changed": person("mail.passwordChanged", "mail.advicePassword", password),
  "password-set-by-administrator": administrator("mail.passwordSet", password),
  "password-removed-by-administrator": administrator("mail.passwordRemoved", account),
  "reset-link-by-administrator": administrator("mail.resetLink", account),
  "passkey-added": person("mail.passkeyAdded", "mail.advicePasskeyAdded", passkeys),
  "passkey-removed": person("mail.passkeyRemoved", "mail.advicePasskeyRemoved", passkeys),
  "app-added": person("mail.appAdded", "mail.adviceAppAdded", factors),
  "app-removed": person("mail.appRemoved", "mail.adviceAppRemoved", factors),
  "recovery-codes-made": person("mail.codesMade", "mail.adviceCodesMade", codes),
  "recovery-codes-removed": person("mail.codesRemoved", "mail.adviceCodesRemoved", factors),
  "recovery-code-used": person("mail.codeUsed", "mail.adviceCodeUsed", codes),
  "identity-linked": person("mail.identityLinked", "mail.adviceIdentityLinked", identities),
  "identity-unlinked": person("mail.identityUnlinked", "mail.adviceIdentityUnlinked", identities),
  "factor-removed-by-administrator": administrator("mail.factorRemoved", factors),
  "access-ended-by-administrator": administrator("mail.accessEnded", account),
  "address-changed": person("mail.addressChanged", "mail.adviceAddressChanged", addresses),
  "address-added": person("mail.addressAdded", "mail.adviceAddressAdded", addresses),
  "address-removed": person("mail.addressRemoved", "mail.adviceAddressRemoved", addresses),
  "address-changed-by-administrator": administrator("mail.addressChangedByAdministrator", addresses),
  "data-downloaded": person("mail.dataDownloaded", "mail.adviceData", password),
  "deletion-asked": person("mail.deletionAsked", "mail.deletionAskedText", keep),
  "deletion-near": { title: "mail.deletionNear", by: "provider", advice: "mail.deletionNearText", page: keep },
  "deletion-done": { title: "mail.deletionDone", by: "provider", advice: "mail.deletionDoneText" },
  "account-restored": person("mail.accountRestored", "mail.adviceRestored", password),
  "new-browser": person("mail.newBrowser", "mail.adviceNewBrowser", sessions),
  "recovery-asked": person("mail.recoveryAsked", "mail.recoveryAskedText", security),
  "recovery-stopped": person("mail.recoveryStopped", "mail.adviceRecoveryStopped", security),
  invitation: {
    ...{ title: "mail.invitation", by: "provider", advice: "mail.invitationNotYou" },
    page: ["/account", "mail.invitationAccept"],
  },
};

export interface NoticeData extends MailFacts {
  readonly kind: NoticeKind;
  /** A path of this provider that undoes the change, or that of an invitation or a reset. */
  readonly undoPath?: string | undefined;
  /** An administrator made a change that people usually make themselves. */
  readonly isByAdministrator?: boolean | undefined;
}

/** Their text says what a person does if it was them, too. */
const saysWhat: readonly NoticeKind[] = ["deletion-asked", "recovery-asked", "recovery-stopped"];

const paragraph = (text: string): MailBlock => ({ kind: "paragraph", text });

/**
 * **Tells a person that their account was changed**: when, in which browser and where, and what to do if they did not want that (NIST SP 800-63B-4
 * §4.6). It contains no text that anyone chose: a browser is named in words of a fixed vocabulary.
 */
export function describeNotice(notice: NoticeData, t: MailTranslator, frame: MailFrame): MailContent {
  const { kind, undoPath } = notice;
  const { issuer, branding, deletionGraceDays } = frame;
  const values = { name: branding.name, at: describeTime(t, notice), days: deletionGraceDays };
  const { title, advice, page, by } = noticeDescriptions[kind];
  const subject = t(title, values);
  if (kind === "invitation") {
    const link = {
      kind: "button",
      text: t("mail.invitationAccept"),
      url: `${issuer}${undoPath ?? "/account"}`,
    } as const;
    return { subject, blocks: [paragraph(t("mail.invitationText", values)), link, paragraph(t(advice))] };
  }
  const isByAdministrator = by === "administrator" || notice.isByAdministrator === true;
  const isTheirs = by === "person" && !isByAdministrator && !saysWhat.includes(kind);
  const undo = undoPath === undefined ? [] : describeUndo(t, kind, `${issuer}${undoPath}`);
  const leads =
    page && ({ kind: undo.length > 0 ? "link" : "button", text: t(page[1]), url: `${issuer}${page[0]}` } as const);
  const isAdvised = isByAdministrator || undo.length === 0;
  return {
    subject,
    blocks: [
      paragraph(t("mail.about", values)),
      { kind: "facts", facts: describeFacts(t, isByAdministrator ? { ...notice, asker: undefined } : notice) },
      ...(isTheirs ? [paragraph(t("mail.byYou"))] : []),
      ...(kind === "address-changed" ? [paragraph(t("mail.usernameStays"))] : []),
      ...(isAdvised ? [paragraph(t(isByAdministrator ? "mail.byAdministrator" : advice, values))] : []),
      ...undo,
      ...(leads ? [leads, paragraph(t("mail.cannotSignIn"))] : []),
    ],
  };
}

/** The address that another one replaces was the person's before; anything else was added. */
function describeUndo(t: MailTranslator, kind: NoticeKind, url: string): readonly MailBlock[] {
  if (kind === "reset-link-by-administrator") {
    return [paragraph(t("mail.resetLinkText")), { kind: "button", text: t("mail.resetLinkOpen"), url }];
  }
  if (kind === "recovery-asked") {
    return [
      paragraph(t("mail.recoveryAskedText")),
      paragraph(t("mail.recoveryAskedNotYou")),
      { kind: "button", text: t("mail.recoveryStop"), url },
    ];
  }
  const wasTheirs = kind === "address-changed" || kind === "address-removed";
  return [
    paragraph(t(wasTheirs ? "mail.undoText" : "mail.takeBackText")),
    { kind: "button", text: t("mail.undo"), url },
  ];
}
