import { formatMessage } from "@edge-op/pages/translator";
import { describe, expect, it } from "vitest";
import { describeWait } from "../src/pages/describe-values.ts";

type Texts = Readonly<Record<string, string>>;
/** The exports of a file: catalogs, and what belongs to them. */
type Catalogs = Readonly<Record<string, { readonly en?: Texts; readonly de?: Texts }>>;

declare global {
  interface ImportMeta {
    /** Vite's: the modules at these paths. */
    glob(paths: readonly string[], options: { readonly eager: true }): Readonly<Record<string, Catalogs>>;
  }
}

/** Every catalog of pages and mails, by its file. */
const files = import.meta.glob(["../src/**/*messages.ts", "../../pages/src/**/*messages.ts"], { eager: true });

/** Texts that are the same in German. */
const alike = ["Code", "Name", "Passkeys", "{resource}: {description}"];

const parametersOf = (text: string) => new Set([...text.matchAll(/\{(\w+)[,}]/g)].map(([, name]) => name));

it.each([
  ["en", 1, "1 second"],
  ["en", 119, "119 seconds"],
  ["en", 121, "3 minutes"],
  ["de", 299, "5 Minuten"],
])("a time to wait in %s, %i seconds: %s", (language, seconds, text) => {
  expect(describeWait(language, seconds)).toBe(text);
});

it("finds the catalogs", () => expect(Object.keys(files).length).toBeGreaterThan(12));

describe.each(Object.entries(files))("%s", (_, catalogs) => {
  const texts = Object.values(catalogs).flatMap(({ en = {}, de = {} }) =>
    Object.entries(en).map(([key, english]) => ({ key, english, german: de[key] ?? "" })),
  );

  it("has each text in German", () => {
    const english = texts.filter((text) => text.german === text.english || text.german === "");
    expect(english.filter((text) => !alike.includes(text.english)).map(({ key }) => key)).toEqual([]);
  });

  it("names the same values in each language, and every form is one that the translator reads", () => {
    for (const { key, english, german } of texts) {
      expect(parametersOf(german), key).toEqual(parametersOf(english));
      for (const [language, text] of [["en", english] as const, ["de", german] as const]) {
        const values = Object.fromEntries([...parametersOf(text)].map((name) => [name!, 2]));
        expect(formatMessage(text, language, values), key).not.toMatch(/[{}#]/);
        expect(text, key).not.toMatch(/\b(plural|select)\b(?!, |,( (=\d+|[a-z]+) \{[^{}]*\})* other \{)/);
      }
    }
  });
});
