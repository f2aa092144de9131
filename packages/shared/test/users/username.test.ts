import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalUsername, findUsernameFault, preservedUsername } from "../../src/users/username.ts";

describe("RFC 8265 §3.5", () => {
  it.each([
    ["juliet@example.com", "juliet@example.com"],
    ["fussball", "fussball"],
    ["fußball", "fußball"],
    ["π", "π"],
    ["Σ", "σ"],
    ["σ", "σ"],
    ["ς", "ς"],
  ])("<%s> is a username, compared as <%s>", (text, canonical) => {
    expect(canonicalUsername(text)).toBe(canonical);
    expect(preservedUsername(text)).toBe(text);
  });

  it.each([
    ["foo bar", "space is disallowed"],
    ["", "zero-length"],
    ["henryⅣ", "compatibility equivalent"],
    ["♚", "symbol"],
    ["∞", "symbol"],
  ])("<%s> is not a username: %s", (text) => {
    expect(canonicalUsername(text)).toBeUndefined();
    expect(findUsernameFault(text)).toBeDefined();
  });
});

describe("one user, one canonical form", () => {
  it.each([
    ["Ｆｉｏｎａ", "fiona", "fullwidth"],
    ["FIONA", "fiona", "case"],
    ["e\u0301va", "éva", "decomposed"],
    ["ÉVA", "éva", "case beyond ASCII"],
    ["ｶﾞ", "ガ", "halfwidth"],
    ["ÜNAL", "ünal", "case beyond ASCII"],
  ])("<%s> is <%s>: %s", (text, canonical) => {
    expect(canonicalUsername(text)).toBe(canonical);
  });

  it.each([
    ["ﬁona", "ligature"],
    ["\u212aelvin", "Kelvin sign"],
    ["\u2126", "Ohm sign"],
    ["fio\u200bna", "zero width space"],
    ["fio\u200dna", "zero width joiner"],
    ["fio\u200cna", "zero width non-joiner"],
    ["\u202efiona", "right-to-left override"],
    ["fio\u00adna", "soft hyphen"],
    ["\ufefffiona", "byte order mark"],
    ["fio\u2060na", "word joiner"],
    ["fio\u00a0na", "no-break space"],
    ["fio\u2003na", "em space"],
    ["fio\u3000na", "ideographic space"],
    ["fio\u1680na", "ogham space"],
    ["fio\u2028na", "line separator"],
    ["fio\tna", "tab"],
    ["fio\u0000na", "NUL"],
    ["fio\ue000na", "private use"],
    ["fio\ufdd0na", "noncharacter"],
    ["fio\u034fna", "combining grapheme joiner"],
    ["fio\u{e0041}na", "tag"],
    ["𝖿𝗂𝗈𝗇𝖺", "mathematical letters"],
    ["ⓕiona", "circled letter"],
    ["x²", "superscript"],
    ["\u1100\u1161\u11a8x\u1100", "Hangul jamo"],
    ["a·b", "middle dot between others than l (RFC 5892 A.3)"],
    ["\u0660\u06f0", "both kinds of Arabic digits (RFC 5892 A.8)"],
    ["אa", "two writing directions (RFC 5893 §2)"],
    ["aא", "two writing directions (RFC 5893 §2)"],
    ["1א", "a digit before what is written from right to left (RFC 5893 §2)"],
    ["א-", "punctuation after what is written from right to left (RFC 5893 §2)"],
    ["a".repeat(256), "too long"],
  ])("<%s> is not a username: %s", (text) => {
    expect(canonicalUsername(text)).toBeUndefined();
    expect(preservedUsername(text)).toBeUndefined();
  });

  it.each(["col·legi", "山田", "カ・カ", "דוד", "محمد1", "محمد٣", "राम", "o'brien", "a+b@example.com"])(
    "<%s> is one",
    (text) => {
      expect(canonicalUsername(text)).toBe(text);
    },
  );

  it("a text with a lone surrogate is not a username", () => {
    expect(canonicalUsername("fio\ud800na")).toBeUndefined();
  });

  it("mapping is idempotent, and does not change the user of a spelling", () => {
    const text = fc.oneof(fc.string({ unit: "grapheme", maxLength: 12 }), fc.string({ unit: "binary", maxLength: 12 }));
    fc.assert(
      fc.property(text, (name) => {
        const canonical = canonicalUsername(name);
        if (canonical === undefined) return;
        expect(canonicalUsername(canonical)).toBe(canonical);
        expect(canonicalUsername(preservedUsername(name)!)).toBe(canonical);
      }),
      { numRuns: 2_000 },
    );
  });
});
