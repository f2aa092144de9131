import { describe, expect, it } from "vitest";
import { chooseLanguage, textFor } from "../src/languages.ts";
import { createTranslator } from "../src/translator.ts";

describe("chooseLanguage", () => {
  it.each([
    ["the client's ui_locales first", ["de-CH"], "en", "de"],
    ["the first supported ui_locale", ["sv", "de"], null, "de"],
    ["Accept-Language by quality", [], "en;q=0.3, de-DE;q=0.9", "de"],
    ["Accept-Language without languages of q=0", [], "de;q=0, en", "en"],
    ["a tag in any case", ["DE"], null, "de"],
    ["a script or country that no text depends on", ["de-Latn-AT-1996"], null, "de"],
    ["the script of a country", ["zh-CN"], null, "zh-Hans"],
    ["not a script that a country does not read", ["zh-TW"], null, "en"],
    ["the words of another country, if there are no others", ["pt"], null, "pt-BR"],
    ["the language of any country", [], "ar-EG", "ar"],
    ["another code of the language", ["deu"], null, "de"],
    ["English as the default if none is supported", ["sv"], "fi, da;q=0.5", "en"],
    ["English as the default without a preference", [], null, "en"],
    ["English as the default for names of object members", ["constructor", "__proto__"], "toString", "en"],
    ["English instead of a pseudo language, which exists in tests alone", ["en-XA", "ar-XB"], "en-XA", "en"],
  ])("RFC 4647 §3.4: the language of a page, by %s", (_, wanted, acceptLanguage, language) => {
    expect(chooseLanguage(wanted, acceptLanguage)).toBe(language);
  });
});

describe("textFor", () => {
  const texts = { de: "deutsch", "pt-PT": "português", "zh-CN": "简体", "zh-TW": "繁體", "en-GB": "English" };

  it.each([
    ["the tag", "de", "deutsch"],
    ["the country of another tag", "pt-BR", "português"],
    ["the script, not another one", "zh-Hans", "简体"],
    ["a country of the language", "en", "English"],
    ["no text in another language", "fr", undefined],
    ["no member of every object", "constructor", undefined],
  ])("RFC 4647 §3.4: of texts by language, by %s", (_, language, text) => {
    expect(textFor(texts, language)).toBe(text);
  });

  it("finds the language alone for a tag with more, and nothing where there is nothing", () => {
    expect(textFor({ pt: "português" }, "pt-BR")).toBe("português");
    expect(textFor({ "not a tag": "x" }, "de")).toBeUndefined();
    expect(textFor(undefined, "de")).toBeUndefined();
  });
});

describe("a text", () => {
  const catalog = {
    en: {
      greeting: "{name}, {other}, {name}",
      codes: "{name} has {count, plural, =0 {no codes} one {# code} other {# codes}}.",
    },
    de: { greeting: "Hallo {name}", codes: "{name} hat {count, plural, one {# Code} other {# Codes}}." },
  } as const;

  it("contains every named value, and nothing for a missing one", () => {
    const t = createTranslator(catalog.en, "en");
    expect(t("greeting", { name: "Ann" })).toBe("Ann, , Ann");
    expect(t("greeting", { name: "{name} $& {count, plural, other {#}}" })).toContain("{name} $& {count, plural,");
    expect(t.language).toBe("en");
  });

  it.each([
    ["en", 0, "Ann has no codes."],
    ["en", 1, "Ann has 1 code."],
    ["en", 1_500, "Ann has 1,500 codes."],
    ["de", 0, "Ann hat 0 Codes."],
    ["de", 1, "Ann hat 1 Code."],
    ["de", 1_500, "Ann hat 1.500 Codes."],
  ] as const)("ICU MessageFormat, plural: %s, %d", (language, count, expected) => {
    expect(createTranslator<"codes">(catalog[language], language)("codes", { name: "Ann", count })).toBe(expected);
  });
});
