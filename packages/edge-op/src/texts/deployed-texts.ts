import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { translatedLanguages } from "@edge-op/shared/config/text-languages";
import type { Plugin } from "esbuild";
import { findSimilar } from "../console/similar.ts";
import { repositoryRoot } from "../workers.ts";

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

/** The folder below that of the deployments. */
export const textsFolder = "texts";

/**
 * **Texts of a deployment's own**: `texts/<tag>.json` beside the files of its environments, with any keys of the English texts. They
 * replace texts of a language, or add a language, whose other texts are English. Returns every fault of the files.
 */
export function findDeployedFaults(deployments: string): string[] {
  const english = Object.assign(
    {},
    ...globSync("packages/{pages,op-auth,op-console}/texts/**/en.json", { cwd: repositoryRoot }).map(readTexts),
  ) as TextFile;
  return listTags(deployments).flatMap((tag) => {
    const path = join(deployments, textsFolder, `${tag}.json`);
    if (!isTag(tag)) return [`${path}: ${tag} is not the tag of a language, such as pt-BR`];
    try {
      return findTextFaults(tag, english, readTexts(path)).map((fault) => `${path}: ${fault}`);
    } catch (error) {
      return [`${path}: ${error instanceof Error ? error.message : String(error)}`];
    }
  });
}

/** Merges the texts of the deployment into a build: they are modules that are loaded on first use, as the others are. */
export function withDeployedTexts(deployments: string): Plugin {
  const tags = listTags(deployments);
  return {
    name: "texts of the deployment",
    setup: (build) => {
      if (tags.length === 0) return;
      build.onLoad({ filter: /shared\/src\/config\/deployed-texts\.ts$/ }, () => ({
        contents: moduleOf(deployments, tags),
        loader: "ts",
        resolveDir: repositoryRoot,
      }));
    },
  };
}

function moduleOf(deployments: string, tags: readonly string[]): string {
  const loads = tags.map((tag) => {
    const path = JSON.stringify(join(deployments, textsFolder, `${tag}.json`));
    return `${JSON.stringify(tag)}: () => import(${path}, { with: { type: "json" } })`;
  });
  const added = tags.filter((tag) => !Object.hasOwn(translatedLanguages, tag)).map((tag) => [tag, describe(tag)]);
  return `export const deployedTexts = { ${loads.join(", ")} };
export const deployedLanguages = ${JSON.stringify(Object.fromEntries(added))};`;
}

/** The name of a language in itself, with a capital as in a list. */
function describe(tag: string): { readonly name: string; readonly direction: "ltr" | "rtl" } {
  const name = new Intl.DisplayNames([tag], { type: "language", languageDisplay: "standard" }).of(tag) ?? tag;
  const { script = "" } = new Intl.Locale(tag).maximize();
  const direction = ["Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm"].includes(script) ? "rtl" : "ltr";
  return { name: name.charAt(0).toLocaleUpperCase(tag) + name.slice(1), direction };
}

function listTags(deployments: string): string[] {
  const folder = join(deployments, textsFolder);
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.map((name) => basename(name, ".json")).sort();
}

function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag)[0] === tag;
  } catch {
    return false;
  }
}

function readTexts(path: string): TextFile {
  return JSON.parse(readFileSync(join(path.startsWith("/") ? "" : repositoryRoot, path), "utf8")) as TextFile;
}
