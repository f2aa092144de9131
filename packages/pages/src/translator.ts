import { describeLanguage, type Language } from "./languages.ts";
import { type PseudoTag, pseudoLanguages } from "./pseudo-languages.ts";

/**
 * **Texts of a language by key**, in two forms of ICU MessageFormat: `{name}` is replaced by a value, `{count, plural, one {# code} other {# codes}}`
 * by the form for a number. A form contains no braces.
 *
 * @see https://unicode-org.github.io/icu/userguide/format_parse/messages/
 */
export type Texts<Key extends string> = Readonly<Record<Key, string>>;

/** A number is written as the language writes it. */
type Values = Readonly<Record<string, string | number>>;

export interface Translator<Key extends string> {
  readonly language: Language;
  (key: Key, values?: Values): string;
}

/** A plural form needs a number; a missing value is replaced by nothing. A pseudo language alters `texts`, which are English. */
export function createTranslator<Key extends string>(texts: Texts<Key>, language: Language): Translator<Key> {
  const pseudo = pseudoLanguages[language as PseudoTag];
  const translate = (key: Key, values: Values = {}) => {
    const text = formatMessage(texts[key], language, values, pseudo?.alter);
    return pseudo?.enclose(text) ?? text;
  };
  return Object.assign(translate, { language });
}

const placeholder = /\{(\w+)(?:, plural,((?: (?:=\d+|[a-z]+) \{[^{}]*\})+))?\}/g;

/**
 * A text with its values. In a right-to-left language each value is isolated (UAX 9 §2.4.2), so that it does not reorder the text around it. `alter`
 * changes what is not a value.
 */
export function formatMessage(
  message: string,
  language: Language,
  values: Values,
  alter: (text: string) => string = (text) => text,
): string {
  const isRightToLeft = describeLanguage(language).direction === "rtl";
  let formatted = "";
  let end = 0;
  for (const { 0: whole, 1: name = "", 2: forms, index } of message.matchAll(placeholder)) {
    const value = values[name] ?? "";
    const shown = typeof value === "number" ? new Intl.NumberFormat(language).format(value) : value;
    const text = isRightToLeft ? `\u2068${shown}\u2069` : shown;
    formatted += alter(message.slice(end, index));
    formatted +=
      forms === undefined ? text : alter(pluralForm(forms, language, Number(value))).replaceAll("#", () => text);
    end = index + whole.length;
  }
  return formatted + alter(message.slice(end));
}

function pluralForm(forms: string, language: Language, count: number): string {
  const byName = new Map([...forms.matchAll(/ (\S+) \{([^{}]*)\}/g)].map(([, name = "", text = ""]) => [name, text]));
  const category = new Intl.PluralRules(language).select(count);
  return byName.get(`=${count}`) ?? byName.get(category) ?? byName.get("other") ?? "";
}
