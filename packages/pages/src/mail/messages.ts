import en from "../../texts/mail/en.json" with { type: "json" };
import { defineCatalog } from "../catalog.ts";
import type { Translator } from "../translator.ts";

export type MailKey = keyof typeof en;
export type MailTranslator = Translator<MailKey>;

/** **The texts of mails**, in a module of their own: what sends mails loads no texts of pages. */
export const mailCatalog = defineCatalog<MailKey>(en, [
  (language) => import(`../../texts/mail/${language}.json`, { with: { type: "json" } }),
]);
