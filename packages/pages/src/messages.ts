/** **The texts of the layout and of error pages, and those of mails.** The texts of a Worker's own pages are defined in that Worker. */

import deLayout from "../texts/de.json" with { type: "json" };
import enLayout from "../texts/en.json" with { type: "json" };
import deMails from "../texts/mail/de.json" with { type: "json" };
import enMails from "../texts/mail/en.json" with { type: "json" };
import type { Catalog } from "./translator.ts";

export type LayoutMessageKey = keyof typeof enLayout & keyof typeof deLayout;
type MailMessageKey = keyof typeof enMails & keyof typeof deMails;

export const layoutMessages: Catalog<LayoutMessageKey> = { en: enLayout, de: deLayout };
export const mailMessages: Catalog<MailMessageKey> = { en: enMails, de: deMails };
