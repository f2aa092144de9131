import { expect, it } from "vitest";
import { describeAgo, describePlace, describeWait, personalDates } from "../src/describe-values.ts";

it.each([
  ["en", 1, "1 second"],
  ["en", 119, "119 seconds"],
  ["en", 121, "3 minutes"],
  ["de", 299, "5 Minuten"],
])("a time to wait in %s, %i seconds: %s", (language, seconds, text) => {
  expect(describeWait(language, seconds)).toBe(text);
});

it.each([
  ["en", 0, "now"],
  ["fr", 0, "maintenant"],
  ["ja", 0, "今"],
  ["en", 1, "1 minute ago"],
  ["uk", 2, "2 хвилини тому"],
])("how long ago in %s, %i minutes: %s", (language, minutes, text) => {
  expect(describeAgo(language, minutes)).toBe(text);
});

it.each([
  ["de", "de-AT", "1. Jän. 2026"],
  ["de", "fr-CH", "1. Jan. 2026"],
  ["pt-BR", "pt-PT", "1/01/2026"],
  ["pt-BR", "pt", "1 de jan. de 2026"],
  ["zh-Hans", "zh-CN", "2026年1月1日"],
  ["ar", "ar-EG", "١ يناير ٢٠٢٦"],
  ["en", "not a tag", "1 Jan 2026"],
])("a date in %s of a person from %s: %s", (language, locale, text) => {
  expect(personalDates({ cf: undefined }, language, { claims: { locale } }).date(Date.UTC(2026, 0, 1))).toBe(text);
});

it.each([
  ["de", "Köln, Deutschland"],
  ["ja", "Köln、ドイツ"],
  ["zh-Hans", "Köln，德国"],
  ["ar", "\u2068Köln\u2069، ألمانيا"],
])("UAX 9 §2.4.2: a place in %s", (language, text) => {
  expect(describePlace(language, { city: "Köln", country: "DE" })).toBe(text);
  expect(describePlace(language, { country: "DE" })).not.toMatch(/^[\p{P}\u2068]/u);
  expect(describePlace(language, {})).toBeUndefined();
});
