import { deployedLanguages } from "./deployed-texts.ts";

export interface LanguageInfo {
  /** In the language itself. */
  readonly name: string;
  readonly direction: "ltr" | "rtl";
}

/**
 * **The languages of pages and mails**, by tag (RFC 5646). To add one, add its files and a line; see docs/adding/language.md. A tag is the shortest
 * one that says how the texts are written: Chinese is `zh-Hans` because the script differs and the country does not matter, Portuguese is `pt-BR`
 * because the words differ.
 */
export const translatedLanguages: Readonly<Record<string, LanguageInfo>> = {
  en: { name: "English", direction: "ltr" },
  de: { name: "Deutsch", direction: "ltr" },
};

/** With those that only the deployment has. */
export const textLanguages: Readonly<Record<string, LanguageInfo>> = { ...translatedLanguages, ...deployedLanguages };
