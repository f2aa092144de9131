import { noticeKinds } from "@edge-op/shared/mail/mail-sender-rpc";
import { chooseLanguage } from "../languages.ts";
import { type CodeData, describeCode } from "./codes.ts";
import { mailCatalog } from "./messages.ts";
import { describeNotice, type NoticeData } from "./notices.ts";
import { type MailFrame, type RenderedMail, renderMail } from "./render-mail.ts";

/** **A mail about an account**: a notice of a change, or a code. */
export type AccountMail = NoticeData | CodeData;

/** Renders a mail in the language of the person. */
export async function renderAccountMail(mail: AccountMail, frame: MailFrame): Promise<RenderedMail> {
  const language = chooseLanguage(mail.locale === undefined ? [] : [mail.locale], null);
  const t = await mailCatalog.translatorFor(language);
  const content = isNotice(mail) ? describeNotice(mail, t, frame) : describeCode(mail, t, frame);
  return renderMail(content, language, frame);
}

function isNotice(mail: AccountMail): mail is NoticeData {
  return noticeKinds.some((kind) => kind === mail.kind);
}
