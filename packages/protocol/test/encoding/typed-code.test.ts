/** **Codes as people type them**: every kind of code has one reader. */

import { describe, expect, it } from "vitest";
import { type CodeForm, readTypedCode } from "../../src/encoding/typed-code.ts";

const six: CodeForm = { alphabet: "0123456789", length: 6, group: 3 };
const eight: CodeForm = { alphabet: "0123456789", length: 8, group: 4 };
const letters: CodeForm = { alphabet: "BCDFGHJKLMNPQRSTVWXZ", length: 8, group: 4 };
const recovery: CodeForm = { alphabet: "0123456789ABCDEFGHJKMNPQRSTVWXYZ", length: 24, group: 4 };
const set = "AAAA-BBBB-CCCC-DDDD-EEEE-FFFF";

describe("a code is read", () => {
  it.each<[string, CodeForm, string, string]>([
    ["as it is", six, "123456", "123456"],
    ["with blanks", six, " 12 34 56\t", "123456"],
    ["with another blank", six, "123\u00a0456", "123456"],
    ["with hyphens", eight, "1234-5678", "12345678"],
    ["with another dash", eight, "1234–5678", "12345678"],
    ["with dots", six, "123.456.", "123456"],
    ["full-width", six, "１２３４５６", "123456"],
    ["Arabic-Indic", six, "١٢٣٤٥٦", "123456"],
    ["Extended Arabic-Indic", eight, "۱۲۳۴-۵۶۷۸", "12345678"],
    ["Devanagari", six, "१२३४५६", "123456"],
    ["Bengali", six, "১২৩৪৫৬", "123456"],
    ["Thai", six, "๑๒๓๔๕๖", "123456"],
    ["of two scripts, whose digits are neighbours", six, "\u{116da}\u{116e3}\u{116d0}\u{116d9}12", "090912"],
    ["mathematical", six, "𝟏𝟐𝟑𝟒𝟓𝟔", "123456"],
    ["as keycaps", six, "1\ufe0f\u20e32\ufe0f\u20e33\ufe0f\u20e3456", "123456"],
    ["with zero-width characters", six, "\u200b123\u200d456\ufeff", "123456"],
    ["with marks of direction", six, "\u202a123456\u202c", "123456"],
    ["in quotes", six, "“123456”", "123456"],
    ["in a sentence", six, "Your code is 123456.", "123456"],
    ["in a sentence, in groups", six, "Your code is 123 456, valid for 30 seconds", "123456"],
    ["in a sentence, among other numbers", eight, "12345678 is your code. It is valid for 10 minutes.", "12345678"],
    ["in a sentence with a date", eight, "On 2026-11-26: 1234 5678", "12345678"],
    ["in a sentence without blanks", six, "验证码：123456，请勿泄露", "123456"],
    ["twice the same", six, "123456 (123 456)", "123456"],
    ["of letters, in a sentence", letters, "Enter the code bcdf-ghjk now", "BCDFGHJK"],
    ["of letters, full-width", letters, "ＢＣＤＦ－ＧＨＪＫ", "BCDFGHJK"],
    ["of letters, in a URL", letters, "https://op.example.com/device?user_code=BCDF-GHJK", "BCDFGHJK"],
    ["a recovery code", recovery, set, set.replaceAll("-", "")],
    ["a recovery code with its label", recovery, `Recovery code: ${set}`, set.replaceAll("-", "")],
    ["a recovery code in lines", recovery, set.replaceAll("-", "\n"), set.replaceAll("-", "")],
  ])("%s", (_, form, text, code) => {
    expect(readTypedCode(text, form)).toBe(code);
  });
});

describe("no code is read from", () => {
  it.each<[string, CodeForm, string]>([
    ["nothing", six, ""],
    ["a shorter one", six, "12345"],
    ["a longer one", six, "1234567"],
    ["two codes", six, "123456 654321"],
    ["two codes in a sentence", eight, "old: 1234 5678, new: 8765 4321"],
    ["a part of a longer number", six, "call 555 123 456"],
    ["a card number", eight, "card 1234 5678 9012 3456"],
    ["a part of a word", six, "order A123456"],
    ["words of as many letters", letters, "my html http page"],
    ["two recovery codes", recovery, `${set} ${set.replaceAll("A", "G")}`],
    ["Roman and Chinese numerals, which are no digits", six, "一二三四五六"],
    ["a page", six, `123456${" ".repeat(1_000)}`],
  ])("%s", (_, form, text) => {
    expect(readTypedCode(text, form)).toBeUndefined();
  });
});
