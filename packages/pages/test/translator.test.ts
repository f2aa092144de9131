import { describe, expect, it } from "vitest";
import { chooseLanguage, createTranslator } from "../src/translator.ts";

describe("chooseLanguage", () => {
  it.each([
    ["the client's ui_locales first", ["de-CH"], "en", "de"],
    ["the first supported ui_locale", ["fr", "de"], null, "de"],
    ["Accept-Language by quality", [], "en;q=0.3, de-DE;q=0.9", "de"],
    ["Accept-Language without languages of q=0", [], "de;q=0, en", "en"],
    ["English as the default if none is supported", ["fr"], "it, es;q=0.5", "en"],
    ["English as the default without a preference", [], null, "en"],
    ["English as the default for names of object members", ["constructor", "__proto__"], "toString", "en"],
  ])("RFC 4647 §3.4: the language of a page, by %s", (_, uiLocales, acceptLanguage, language) => {
    expect(chooseLanguage(uiLocales, acceptLanguage)).toBe(language);
  });
});

it("replaces every named value in a text, and a missing one with nothing", () => {
  const t = createTranslator({ en: { greeting: "{name}, {other}, {name}" }, de: { greeting: "Hallo {name}" } }, "en");
  expect(t("greeting", { name: "Ann" })).toBe("Ann, , Ann");
  expect(t.language).toBe("en");
});
