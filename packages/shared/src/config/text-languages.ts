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
  fr: { name: "Français", direction: "ltr" },
  es: { name: "Español", direction: "ltr" },
  it: { name: "Italiano", direction: "ltr" },
  "pt-BR": { name: "Português (Brasil)", direction: "ltr" },
  nl: { name: "Nederlands", direction: "ltr" },
  pl: { name: "Polski", direction: "ltr" },
  tr: { name: "Türkçe", direction: "ltr" },
  uk: { name: "Українська", direction: "ltr" },
  ja: { name: "日本語", direction: "ltr" },
  ko: { name: "한국어", direction: "ltr" },
  "zh-Hans": { name: "简体中文", direction: "ltr" },
  ar: { name: "العربية", direction: "rtl" },
};

/** With those that only the deployment has. */
export const textLanguages: Readonly<Record<string, LanguageInfo>> = { ...translatedLanguages, ...deployedLanguages };
