import type { NoticeKind } from "@edge-op/shared/users/mail-sender-rpc";
import { createTranslator, type Language } from "../translator.ts";
import { mailMessages } from "./messages.ts";
import type { MailContent, MailFrame } from "./render-mail.ts";

export interface NoticeData {
  readonly kind: NoticeKind;
  /** When the change was made. */
  readonly atMs: number;
  /** The person's `locale`. */
  readonly locale?: string | undefined;
  /** A path of this provider that undoes the change. */
  readonly undoPath?: string | undefined;
}

const titles = {
  "password-changed": "mail.passwordChanged",
  "password-set-by-administrator": "mail.passwordSet",
  "password-removed-by-administrator": "mail.passwordRemoved",
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
  "address-changed-by-administrator": "mail.addressChangedByAdministrator",
} as const satisfies Readonly<Record<NoticeKind, keyof typeof mailMessages.en>>;

const byAdministrator: readonly NoticeKind[] = [
  "password-set-by-administrator",
  "password-removed-by-administrator",
  "factor-removed-by-administrator",
  "access-ended-by-administrator",
  "address-changed-by-administrator",
];

/**
 * **Tells a person that their account was changed**, and what to do if they did not want that (NIST SP 800-63B-4 §4.6). It contains no text of anyone: no
 * name, no device.
 */
export function describeNotice(
  { kind, atMs, undoPath }: NoticeData,
  language: Language,
  { issuer, branding }: MailFrame,
): MailContent {
  const t = createTranslator(mailMessages, language);
  const at = new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }).format(atMs);
  const values = { name: branding.name, at };
  const isByAdministrator = byAdministrator.includes(kind);
  const paragraph = (text: string) => ({ kind: "paragraph", text }) as const;
  return {
    subject: t(titles[kind]),
    blocks: [
      paragraph(t("mail.when", values)),
      paragraph(t(isByAdministrator ? "mail.byAdministrator" : "mail.byYou")),
      ...(isByAdministrator || undoPath !== undefined ? [] : [paragraph(t("mail.notYou"))]),
      ...(undoPath === undefined
        ? []
        : [
            paragraph(t("mail.undoText")),
            { kind: "link", text: t("mail.undo"), url: `${issuer}${undoPath}` } as const,
          ]),
      { kind: "link", text: t("mail.account"), url: `${issuer}/account` },
      paragraph(t("mail.cannotSignIn")),
    ],
  };
}
