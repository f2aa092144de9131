import type { NoticeKind } from "@edge-op/shared/mail/mail-sender-rpc";
import { describeFacts, describeTime, type MailFacts } from "./facts.ts";
import type { MailBlock, MailContent, MailFrame } from "./mail-parts.ts";
import type { MailTranslator } from "./messages.ts";
import { noticeDescriptions } from "./notice-kinds.ts";

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
