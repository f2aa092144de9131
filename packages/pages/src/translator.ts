/** **Texts by language and key.** In a text, `{name}` is replaced by a value. */
export type Catalog<Key extends string> = Readonly<Record<Language, Readonly<Record<Key, string>>>>;

/** To add a language, add a member here: the compiler then reports every catalog that lacks it. */
export const languages = ["en", "de"] as const;
export type Language = (typeof languages)[number];

export interface Translator<Key extends string> {
  readonly language: Language;
  (key: Key, values?: Readonly<Record<string, string>>): string;
}

export function createTranslator<Key extends string>(catalog: Catalog<Key>, language: Language): Translator<Key> {
  const messages = catalog[language];
  const translate = (key: Key, values: Readonly<Record<string, string>> = {}) =>
    messages[key].replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
  return Object.assign(translate, { language });
}

/**
 * **The language of a page**: the first supported one of the client's `ui_locales`, then of the browser's `Accept-Language`, else
 * English.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4647#section-3.4
 */
export function chooseLanguage(uiLocales: readonly string[], acceptLanguage: string | null): Language {
  const wanted = [...uiLocales, ...readAcceptLanguage(acceptLanguage ?? "")].map((tag) =>
    tag.split("-", 1)[0]!.toLowerCase(),
  );
  for (const tag of wanted) {
    const supported = languages.find((language) => language === tag);
    if (supported !== undefined) return supported;
  }
  return "en";
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
