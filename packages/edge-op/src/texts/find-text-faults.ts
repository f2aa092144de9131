import { findSimilar } from "../console/similar.ts";

export type TextFile = Readonly<Record<string, string>>;

const placeholder = /\{(\w+)[,}]/g;
const plural = /\{(\w+), plural,((?: (?:=\d+|[a-z]+) \{[^{}]*\})+)\}/g;

/**
 * **The rules of texts in another language**, for translations of this repository and for texts of a deployment: the keys of English, its
 * placeholders, every plural form of the language, no markup, no blanks around, and a length for which the pages have room. Returns the faults.
 */
export function findTextFaults(language: string, english: TextFile, texts: TextFile): string[] {
  return Object.entries(texts).flatMap(([key, text]) => {
    const original = english[key];
    if (original === undefined) return [unknownKey(key, Object.keys(english))];
    if (typeof text !== "string") return [`${key}: is not a text`];
    return faultsOf(language, original, text).map((fault) => `${key}: ${fault}`);
  });
}

function faultsOf(language: string, original: string, text: string): string[] {
  const rest = text.replaceAll(plural, "").replaceAll(/\{\w+\}/g, "");
  const wanted = namesIn(original);
  const faults = [
    text.trim() === "" && "is empty",
    text !== text.trim() && "begins or ends with a blank",
    / {2}/.test(text) && "has two blanks in a row",
    /<[a-z/!][^<>]*>.|.<[a-z/!]|&#?\w+;/i.test(text) && "contains markup",
    /[{}]/.test(rest) && "has braces that are neither {name} nor {name, plural, one {…} other {…}}",
    namesIn(text) !== wanted && `must contain ${wanted === "" ? "no {name}" : wanted}`,
    lengthOf(text) > 2 * lengthOf(original) + 16 && "is more than twice as long as in English",
    original.includes(", plural,") && hasManyForms(language) && !text.includes(", plural,") && "needs plural forms",
    ...[...text.matchAll(plural)].map(([, , forms]) => pluralFault(language, forms!)),
  ];
  return faults.filter((fault) => typeof fault === "string");
}

/** Each once, in the order of the alphabet. */
function namesIn(text: string): string {
  return [...new Set([...text.matchAll(placeholder)].map(([, name]) => `{${name}}`))].toSorted().join(", ");
}

/** Without the forms, of which one is shown, and without marks that are not seen. */
function lengthOf(text: string): number {
  return text.replaceAll(plural, "{name}").replaceAll("\u00ad", "").length;
}

/** The forms of the numbers that pages show: `many` of a million in French is none of them. */
function formsOf(language: string): Set<string> {
  const rules = new Intl.PluralRules(language);
  return new Set([...Array.from({ length: 1001 }, (_, count) => rules.select(count)), "other"]);
}

/** A word of a language with two forms may have one: German `Zeichen`. */
function hasManyForms(language: string): boolean {
  return formsOf(language).size > 2;
}

function pluralFault(language: string, forms: string): string | undefined {
  const given = [...forms.matchAll(/ (\S+) \{/g)].map(([, name]) => name!);
  const needed = [...formsOf(language)];
  const known = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
  const missing = needed.filter((name) => !given.includes(name));
  const unknown = given.filter((name) => !name.startsWith("=") && !known.some((each) => each === name));
  if (missing.length > 0) return `lacks the plural form ${missing.join(", ")}`;
  return unknown.length > 0 ? `has the plural form ${unknown.join(", ")}, which ${language} does not have` : undefined;
}

function unknownKey(key: string, known: readonly string[]): string {
  const [nearest] = findSimilar(key, known);
  return `${key}: is the key of no text${nearest === undefined ? "" : `; did you mean ${nearest}?`}`;
}
