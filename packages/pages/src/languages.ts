import type { LanguageInfo } from "@edge-op/shared/config/deployed-texts";
import { textLanguages, translatedLanguages } from "@edge-op/shared/config/text-languages";
import { pseudoLanguages } from "./pseudo-languages.ts";

const known: ReadonlyMap<string, LanguageInfo> = new Map(Object.entries({ ...textLanguages, ...pseudoLanguages }));

/** Whether the files of the packages have this language. */
export function isTranslated(language: Language): boolean {
  return Object.hasOwn(translatedLanguages, language);
}

/** The tag of one of the {@link languages}. The pseudo languages exist in tests only. */
export type Language = string;

export const languages: readonly Language[] = [...known.keys()];

const english: LanguageInfo = { name: "English", direction: "ltr" };

export function describeLanguage(language: Language): LanguageInfo {
  return known.get(language) ?? english;
}

/** The language with this tag, in any case; `undefined` for others. */
export function findLanguage(tag: string, among = languages): Language | undefined {
  return among.find((language) => language.toLowerCase() === tag.toLowerCase());
}

/**
 * **The language of a page**: the first supported one of the wanted tags (the person's choice, the client's `ui_locales`), then of the browser's
 * `Accept-Language`, else English.
 */
export function chooseLanguage(
  wanted: readonly string[],
  acceptLanguage: string | null,
  among: readonly Language[] = languages,
): Language {
  for (const tag of [...wanted, ...readAcceptLanguage(acceptLanguage ?? "")]) {
    const supported = lookUp(tag, among);
    if (supported !== undefined) return supported;
  }
  return "en";
}

/**
 * The tag, or the first of its beginnings that is supported, else a language that is written alike: `zh-CN` is `zh-Hans`, `pt` is `pt-BR`, and
 * `zh-TW` is neither.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4647#section-3.4
 */
function lookUp(tag: string, among: readonly Language[]): Language | undefined {
  const parts = tag.split("-");
  for (let length = parts.length; length > 0; length -= 1) {
    const found = findLanguage(parts.slice(0, length).join("-"), among);
    if (found !== undefined) return found;
  }
  const written = writingOf(tag);
  return written && among.find((language) => writingOf(language) === written);
}

/** The language and its script, also where the tag leaves the script to the country; `undefined` for what is no tag. */
function writingOf(tag: string): string | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return undefined;
  }
}

/**
 * **The text for a reader of a language**, of texts by language tag that a deployment, a resource or a client has written: by the lookup that chooses
 * the language of a page. `undefined` if none is in a language that the reader has asked for.
 */
export function textFor<Text>(texts: Readonly<Record<string, Text>> | undefined, language: Language): Text | undefined {
  const tag = texts && lookUp(language, Object.keys(texts));
  return tag === undefined ? undefined : texts?.[tag];
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
    .filter(({ tag, quality }) => quality > 0 && tag.length <= tagAtMost)
    .sort((left, right) => right.quality - left.quality)
    .map(({ tag }) => tag);
}
