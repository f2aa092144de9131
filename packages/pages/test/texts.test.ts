import { describe, expect, it } from "vitest";
import { formatMessage } from "../src/translator.ts";

type Texts = Readonly<Record<string, string>>;

declare global {
  interface ImportMeta {
    /** Vite's: the modules at these paths. */
    glob(path: string, options: { readonly eager: true; readonly import: "default" }): Readonly<Record<string, Texts>>;
  }
}

/** The texts of pages and mails, by their file. */
const files = import.meta.glob("../../{pages,op-auth}/texts/**/*.json", { eager: true, import: "default" });
const catalogs = Object.keys(files).filter((path) => path.endsWith("/en.json"));

/** Texts that are the same in German. */
const alike = ["Code", "Name", "Passkeys", "{resource}: {description}"];

const parametersOf = (text: string) => new Set([...text.matchAll(/\{(\w+)[,}]/g)].map(([, name]) => name));

it("finds the texts", () => expect(catalogs.length).toBe(3));

describe.each(catalogs)("%s", (path) => {
  const english = files[path]!;
  const german = files[path.replace("/en.json", "/de.json")]!;

  it("has each text in German", () => {
    expect(Object.keys(german)).toEqual(Object.keys(english));
    const same = Object.keys(english).filter((key) => german[key] === english[key] || german[key] === "");
    expect(same.filter((key) => !alike.includes(english[key]!))).toEqual([]);
  });

  it("names the same values in each language, and every form is one that the translator reads", () => {
    for (const [key, text] of Object.entries(english)) {
      expect(parametersOf(german[key]!), key).toEqual(parametersOf(text));
      for (const [language, translated] of [["en", text] as const, ["de", german[key]!] as const]) {
        const values = Object.fromEntries([...parametersOf(translated)].map((name) => [name!, 2]));
        expect(formatMessage(translated, language, values), key).not.toMatch(/[{}#]/);
        expect(translated, key).not.toMatch(/\b(plural|select)\b(?!, |,( (=\d+|[a-z]+) \{[^{}]*\})* other \{)/);
      }
    }
  });
});
