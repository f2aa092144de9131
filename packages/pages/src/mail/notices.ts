import type { NoticeKind } from "@edge-op/shared/mail/mail-sender-rpc";
import type { MailKey, MailTranslator } from "./messages.ts";
import type { MailContent, MailFrame } from "./render-mail.ts";

export interface NoticeData {
  readonly kind: NoticeKind;
  /** When the change was made. */
  readonly atMs: number;
  /** The person's `locale`. */
  readonly locale?: string | undefined;
  /** A path of this provider that undoes the change, or that of an invitation or a reset. */
  readonly undoPath?: string | undefined;
}

const titles = {
  "password-changed": "mail.passwordChanged",
  "password-set-by-administrator": "mail.passwordSet",
  "password-removed-by-administrator": "mail.passwordRemoved",
  "reset-link-by-administrator": "mail.resetLink",
  "passkey-added": "mail.passkeyAdded",
  "passkey-removed": "mail.passkeyRemoved",
  "app-added": "mail.appAdded",
  "app-removed": "mail.appRemoved",
  "recovery-codes-made": "mail.codesMade",
  "recovery-codes-removed": "mail.codesRemoved",
  "recovery-code-used": "mail.codeUsed",
  "identity-linked": "mail.identityLinked",
  "identity-unlinked": "mail.identityUnlinked",
  "factor-removed-by-administrator": "mail.factorRemoved",
  "access-ended-by-administrator": "mail.accessEnded",
  "address-changed": "mail.addressChanged",
  "address-added": "mail.addressAdded",
  "address-removed": "mail.addressRemoved",
  "address-changed-by-administrator": "mail.addressChangedByAdministrator",
  "data-downloaded": "mail.dataDownloaded",
  "deletion-asked": "mail.deletionAsked",
  "deletion-near": "mail.deletionNear",
  "deletion-done": "mail.deletionDone",
  "account-restored": "mail.accountRestored",
  "new-browser": "mail.newBrowser",
  invitation: "mail.invitation",
} as const satisfies Readonly<Record<NoticeKind, MailKey>>;

const deletionTexts: Partial<Record<NoticeKind, MailKey>> = {
  "deletion-asked": "mail.deletionAskedText",
  "deletion-near": "mail.deletionNearText",
};

const byAdministrator: readonly NoticeKind[] = [
  "password-set-by-administrator",
  "password-removed-by-administrator",
  "reset-link-by-administrator",
  "factor-removed-by-administrator",
  "access-ended-by-administrator",
  "address-changed-by-administrator",
];

/** The address that another one replaces was the person's before; anything else was added. */
function undoText(kind: NoticeKind) {
  return kind === "address-changed" || kind === "address-removed" ? "mail.undoText" : "mail.takeBackText";
}

/**
 * **Tells a person that their account was changed**, and what to do if they did not want that (NIST SP 800-63B-4 §4.6). It contains no text of
 * anyone: no name, no device.
 */
export function describeNotice(
  { kind, atMs, undoPath }: NoticeData,
  t: MailTranslator,
  { issuer, branding, deletionGraceDays }: MailFrame,
): MailContent {
  const at = new Intl.DateTimeFormat(t.language, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }).format(
    atMs,
  );
  const values = { name: branding.name, at, days: deletionGraceDays };
  const isByAdministrator = byAdministrator.includes(kind);
  const paragraph = (text: string) => ({ kind: "paragraph", text }) as const;
  if (kind === "invitation") {
    const link = { kind: "link", text: t("mail.invitationAccept"), url: `${issuer}${undoPath ?? "/account"}` } as const;
    const texts = [paragraph(t("mail.invitationText", values)), link, paragraph(t("mail.invitationNotYou"))];
    return { subject: t("mail.invitation", values), blocks: texts };
  }
  const deletion = deletionTexts[kind];
  if (kind === "deletion-done") {
    return {
      subject: t(titles[kind]),
      blocks: [paragraph(t("mail.when", values)), paragraph(t("mail.deletionDoneText", values))],
    };
  }
  if (deletion !== undefined) {
    const link = { kind: "link", text: t("mail.keepAccount"), url: `${issuer}/account` } as const;
    const texts = [paragraph(t("mail.when", values)), paragraph(t(deletion, values)), link];
    return { subject: t(titles[kind]), blocks: [...texts, paragraph(t("mail.cannotSignIn"))] };
  }
  const isReset = kind === "reset-link-by-administrator" && undoPath !== undefined;
  return {
    subject: t(titles[kind]),
    blocks: [
      paragraph(t("mail.when", values)),
      paragraph(t(isByAdministrator ? "mail.byAdministrator" : "mail.byYou")),
      ...(isByAdministrator || undoPath !== undefined ? [] : [paragraph(t("mail.notYou"))]),
      ...(undoPath === undefined
        ? []
        : [
            paragraph(t(isReset ? "mail.resetLinkText" : undoText(kind))),
            {
              kind: "link",
              text: t(isReset ? "mail.resetLinkOpen" : "mail.undo"),
              url: `${issuer}${undoPath}`,
            } as const,
          ]),
      { kind: "link", text: t("mail.account"), url: `${issuer}/account` },
      paragraph(t("mail.cannotSignIn")),
    ],
  };
}
