import de from "../../texts/mail/de.json" with { type: "json" };
import en from "../../texts/mail/en.json" with { type: "json" };
import type { Catalog } from "../translator.ts";

/** **The texts of mails**, in a module of their own: what sends mails loads no texts of pages. */
export const mailMessages: Catalog<keyof typeof en & keyof typeof de> = { en, de };
