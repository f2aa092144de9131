import { type CodePurpose, mailedCodeMs, noticeKinds } from "@edge-op/shared/mail/mail-sender-rpc";
import { ownText } from "../branding.ts";
import { chooseLanguage } from "../languages.ts";
import { type RenderedMail, renderMail } from "./mail-page.ts";
import {
  describeFacts,
  type MailBlock,
  type MailContent,
  type MailFacts,
  type MailFrame,
  type MailKey,
  type MailTranslator,
  mailCatalog,
} from "./mail-parts.ts";
import { describeNotice, type NoticeData } from "./notices.ts";

/** **A mail about an account**: a notice of a change, or a code. */
export type AccountMail = NoticeData | CodeData;

/** Renders a mail in the language of the person. */
export async function renderAccountMail(mail: AccountMail, frame: MailFrame): Promise<RenderedMail> {
  const language = chooseLanguage(mail.locale === undefined ? [] : [mail.locale], null);
  const t = await mailCatalog.translatorFor(language);
  const content = isNotice(mail) ? describeNotice(mail, t, frame) : describeCode(mail, t, frame);
  const { supportUrl } = frame.branding;
  const help = supportUrl && { text: t("mail.help"), url: supportUrl };
  const own = ownText(frame.branding, "mail_footer", language);
  return renderMail(content, { own, help: help || undefined }, language, frame);
}

function isNotice(mail: AccountMail): mail is NoticeData {
  return noticeKinds.some((kind) => kind === mail.kind);
}

/**
 * `account-exists`: a code for a new account, to somebody who has one. `address-in-use`: the address belongs to another account, and gets no code.
 */
export type CodeMailKind = CodePurpose | "account-exists" | "address-in-use";

export interface CodeData extends MailFacts {
  readonly kind: CodeMailKind;
  /** Absent for `address-in-use`. */
  readonly code?: string | undefined;
}

const titles = {
  recover: "mail.codeRecover",
  address: "mail.codeAddress",
  "sign-up": "mail.codeSignUp",
  "sign-in": "mail.codeSignIn",
  "account-exists": "mail.accountExists",
  "address-in-use": "mail.addressInUse",
} as const satisfies Readonly<Record<CodeMailKind, MailKey>>;

const explanations = {
  recover: "mail.codeRecoverText",
  address: "mail.codeAddressText",
  "sign-up": "mail.codeSignUpText",
  "sign-in": "mail.codeSignInText",
  "account-exists": "mail.accountExistsText",
  "address-in-use": "mail.addressInUseText",
} as const satisfies Readonly<Record<CodeMailKind, MailKey>>;

export const codeMailKinds = Object.keys(titles) as readonly CodeMailKind[];

/** For an account that exists. Who mistypes their address in any other form tells a stranger nothing of themselves. */
const namesAsker: readonly CodeMailKind[] = ["recover", "sign-in"];

/**
 * **A mailed code.** It is typed into the page on which it was requested, from the subject too: there is no link that a program which reads mails
 * could open. It contains no text of anyone.
 */
export function describeCode(mail: CodeData, t: MailTranslator, { branding }: MailFrame): MailContent {
  const { kind, code } = mail;
  const values = { name: branding.name, minutes: mailedCodeMs / 60_000 };
  const paragraph = (text: string): MailBlock => ({ kind: "paragraph", text });
  const heading = t(titles[kind]);
  const facts = describeFacts(t, namesAsker.includes(kind) ? mail : { ...mail, asker: undefined });
  const typed = code && `${code.slice(0, 4)} ${code.slice(4)}`;
  return {
    subject: typed ? `${typed} – ${heading}` : heading,
    heading,
    blocks: [
      paragraph(t(explanations[kind], values)),
      ...(typed ? [{ kind: "code", text: typed } as const, paragraph(t("mail.codeUse", values))] : []),
      { kind: "facts", facts },
      paragraph(t(kind === "sign-in" ? "mail.codeSignInNotYou" : "mail.codeNotYou")),
    ],
  };
}
