import { noticeKinds } from "@edge-op/shared/mail/mail-sender-rpc";
import { chooseLanguage } from "../languages.ts";
import { createTranslator } from "../translator.ts";
import { type CodeData, describeCode } from "./codes.ts";
import type { MailFrame } from "./mail-parts.ts";
import { mailMessages } from "./messages.ts";
import { describeNotice, type NoticeData } from "./notices.ts";
import { type RenderedMail, renderMail } from "./render-mail.ts";

/** **A mail about an account**: a notice of a change, or a code. */
export type AccountMail = NoticeData | CodeData;

/** Renders a mail in its language. */
export function renderAccountMail(mail: AccountMail, frame: MailFrame): RenderedMail {
  const language = chooseLanguage(mail.locale === undefined ? [] : [mail.locale], null);
  const content = isNotice(mail) ? describeNotice(mail, language, frame) : describeCode(mail, language, frame);
  const { supportUrl } = frame.branding;
  const help = supportUrl && { text: createTranslator(mailMessages, language)("mail.help"), url: supportUrl };
  return renderMail(content, { help: help || undefined }, language, frame);
}

function isNotice(mail: AccountMail): mail is NoticeData {
  return noticeKinds.some((kind) => kind === mail.kind);
}
