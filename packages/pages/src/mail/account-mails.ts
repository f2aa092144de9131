import { noticeKinds } from "@edge-op/shared/mail/mail-sender-rpc";
import { ownText } from "../branding.ts";
import { chooseLanguage } from "../languages.ts";
import { type CodeData, describeCode } from "./codes.ts";
import type { MailFrame } from "./mail-parts.ts";
import { mailCatalog } from "./messages.ts";
import { describeNotice, type NoticeData } from "./notices.ts";
import { type RenderedMail, renderMail } from "./render-mail.ts";

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
