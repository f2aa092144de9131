import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeBase64Url, encodeBase64Url } from "../../src/encoding/bytes.ts";

it("RFC 7515 §2: bytes round-trip, and every other spelling of them is refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.constantFrom("A", "B", "h", "_", "-", "="), (bytes, last) => {
      const text = encodeBase64Url(bytes);
      expect(decodeBase64Url(text)).toEqual(bytes);
      const other = text.slice(0, -1) + last;
      const decoded = decodeBase64Url(other);
      expect(decoded === undefined || encodeBase64Url(decoded) === other).toBe(true);
    }),
  );
});

it.each([
  ["AA=", "padding"],
  ["A", "a single character"],
  ["AAAAA", "a single character after a group"],
  ["AB", "bits beyond the last byte"],
  ["AAB", "bits beyond the last byte"],
  ["A A", "white space"],
  ["AAAA\n", "a line end"],
  ["A+/A", "characters of base64"],
  ["AAé", "a character beyond ASCII"],
])("%j has %s and is refused", (text) => {
  expect(decodeBase64Url(text)).toBeUndefined();
});
