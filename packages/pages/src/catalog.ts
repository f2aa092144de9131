import { deployedTexts } from "@edge-op/shared/config/deployed-texts";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";
import { isTranslated, type Language, languages } from "./languages.ts";
import { createTranslator, type Texts, type Translator } from "./translator.ts";

/** **Texts in all languages.** English is part of the script; another language is loaded when an isolate first needs it. */
export interface Catalog<Key extends string> {
  readonly languages: readonly Language[];
  readonly english: Texts<Key>;
  translatorFor(language: Language): Translator<Key> | Promise<Translator<Key>>;
}

/** Loads a file of texts by `import()`. */
export type LoadTexts = (language: Language) => Promise<{ readonly default: Readonly<Record<string, string>> }>;

/** A text that a language lacks is English. `among`: the languages that have these files. */
export function defineCatalog<Key extends string>(
  english: Texts<Key>,
  files: readonly LoadTexts[],
  among: readonly Language[] = languages,
): Catalog<Key> {
  const translators = new Map(among.map((language) => [language, translatorOf(language)]));
  return {
    languages: among,
    english,
    translatorFor: (language) => translators.get(language)?.() ?? createTranslator(english, language),
  };

  function translatorOf(language: Language): (() => Translator<Key> | Promise<Translator<Key>>) | undefined {
    const own = language !== "en" && isTranslated(language) ? files : [];
    const deployed = deployedTexts[language];
    if (own.length === 0 && deployed === undefined) return undefined;
    return onFirstUse(async () => {
      const texts = await Promise.all([...own.map((load) => load(language)), deployed?.()]);
      return createTranslator({ ...english, ...Object.assign({}, ...texts.map((file) => file?.default)) }, language);
    });
  }
}
