import { type PseudoTag, pseudoLanguages } from "./pseudo-languages.ts";

/**
 * **The languages of pages and mails.** To add one, add a member: the compiler then reports every catalog that lacks it. `name` is in the language
 * itself, `direction` that of its script.
 */
const translated = {
  en: { name: "English", direction: "ltr" },
  de: { name: "Deutsch", direction: "ltr" },
} as const;

/** A language that has texts. */
export type TextLanguage = keyof typeof translated;

/** The pseudo languages exist in tests only. */
export type Language = TextLanguage | PseudoTag;

interface LanguageInfo {
  readonly name: string;
  readonly direction: "ltr" | "rtl";
}

const known: Readonly<Record<TextLanguage, LanguageInfo>> & Partial<Record<Language, LanguageInfo>> = {
  ...translated,
  ...pseudoLanguages,
};

export const languages = Object.keys(known) as Language[];

export function describeLanguage(language: Language): LanguageInfo {
  return known[language] ?? known.en;
}

export function hasTexts(language: Language): language is TextLanguage {
  return Object.hasOwn(translated, language);
}

/** The language with this tag (RFC 5646), in any case; `undefined` for others. */
export function findLanguage(tag: string): Language | undefined {
  return languages.find((language) => language.toLowerCase() === tag.toLowerCase());
}

/**
 * **The language of a page**: the first supported one of the wanted tags (the person's choice, the client's `ui_locales`), then of the browser's
 * `Accept-Language`, else English.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4647#section-3.4
 */
export function chooseLanguage(wanted: readonly string[], acceptLanguage: string | null): Language {
  for (const tag of [...wanted, ...readAcceptLanguage(acceptLanguage ?? "")]) {
    const supported = findLanguage(tag) ?? findLanguage(tag.split("-", 1)[0]!);
    if (supported !== undefined) return supported;
  }
  return "en";
}

const localesAtMost = 10;
/** RFC 5646 §4.4.1. */
const tagAtMost = 35;

/** The tags of `ui_locales` (OIDC Core §3.1.2.1). It affects no decision, so nothing is refused: what is too long or too much is ignored. */
export function readLocales(text: string | null | undefined): readonly string[] {
  return text?.split(" ", localesAtMost).filter((tag) => tag.length <= tagAtMost) ?? [];
}

function readAcceptLanguage(header: string): string[] {
  return header
    .split(",", 10)
    .map((part) => {
      const [tag = "", ...parameters] = part.trim().split(";");
      const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
      return { tag, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((left, right) => right.quality - left.quality)
    .map(({ tag }) => tag);
}
