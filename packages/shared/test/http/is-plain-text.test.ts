import { isPlainText, isVisibleText } from "@edge-op/shared/http/is-plain-text";
import { expect, it } from "vitest";

it.each([
  ["white space", " \u00a0\u3000"],
  ["zero-width characters", "\u200b\u200c\u200d\ufeff\u2060"],
  ["fillers of Hangul", "\u115f\u1160\u3164\uffa0"],
  ["a blank of Braille, a note without a head", "\u2800\u{1d159}"],
  ["tags", "\u{e0041}\u{e007f}"],
  ["an Arabic letter mark", "\u061c\u200e\u200f"],
  ["variation selectors, joiners of marks", "\ufe0f\u034f\u{e0100}"],
  ["nothing", ""],
])("a name of %s alone is seen by nobody", (_, text) => {
  expect(isVisibleText(text)).toBe(false);
  expect(isVisibleText(`${text}ä${text}`)).toBe(true);
});

it.each(["Zoë", "李", "\u0645\u0631\u06cc\u0645\u200c\u062c\u0627\u0646", "👩‍👩‍👧", "ᄀ", "X Æ A-12", "…"])(
  "%s is a name",
  (text) => {
    expect([isPlainText(text), isVisibleText(text)]).toEqual([true, true]);
  },
);

it.each(["a\nb", "a\u0085b", "a\u2028b", "a\u2029b", "a\u202eb", "a\u2066b", "a\ud800b", "a\u009bb"])(
  "%j is not one line of plain text",
  (text) => {
    expect(isPlainText(text)).toBe(false);
  },
);
