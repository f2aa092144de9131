import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeBase64Url, encodeUtf8 } from "../../src/encoding/bytes.ts";
import { decodeClaims, decodeJwt, isTokenType } from "../../src/jwt/decode-claims.ts";

const encode = (text: string) => encodeBase64Url(encodeUtf8(text));
const header = encode('{"alg":"ES256","kid":"k","typ":"JWT"}');
const payload = encode('{"sub":"alice"}');

it("RFC 7515 §7.1: header and claims of a compact JWS", () => {
  expect(decodeJwt(`${header}.${payload}.c2ln`)).toEqual({
    header: { alg: "ES256", kid: "k", typ: "JWT" },
    claims: { sub: "alice" },
  });
  expect(decodeClaims(`${header}.${payload}.c2ln`)).toEqual({ sub: "alice" });
});

it.each([
  ["empty", ""],
  ["one segment", header],
  ["two segments", `${header}.${payload}`],
  ["four segments", `${header}.${payload}.c2ln.c2ln`],
  ["five segments, encrypted", `${header}.${payload}.c2ln.c2ln.c2ln`],
  ["no signature", `${header}.${payload}.`],
  ["no header", `.${payload}.c2ln`],
  ["no claims", `${header}..c2ln`],
  ["a header that is an array", `${encode("[]")}.${payload}.c2ln`],
  ["a header without alg", `${encode('{"typ":"JWT"}')}.${payload}.c2ln`],
  ["an alg that is no string", `${encode('{"alg":1}')}.${payload}.c2ln`],
  ["a kid that is no string", `${encode('{"alg":"ES256","kid":{}}')}.${payload}.c2ln`],
  ["crit", `${encode('{"alg":"ES256","crit":["b64"],"b64":false}')}.${payload}.c2ln`],
  ["claims that are no object", `${header}.${encode('"alice"')}.c2ln`],
  ["claims that are no JSON", `${header}.${encode("{sub}")}.c2ln`],
  ["claims with a byte order mark", `${header}.${encode('\ufeff{"sub":"alice"}')}.c2ln`],
  [
    "claims that are no UTF-8",
    `${header}.${encodeBase64Url(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))}.c2ln`,
  ],
  ["an impossible length", `${header}.${payload}.c2lnc`],
  ["longer than the limit", `${header}.${payload}.${"c2ln".repeat(4_096)}`],
])("%s is not a JWT", (_, token) => {
  expect(decodeJwt(token)).toBeUndefined();
});

it("RFC 4648 §3.5: a segment has one spelling: no other last character decodes to the same bytes", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 7 }), (signature) => {
      const encoded = encodeBase64Url(signature);
      expect(decodeJwt(`${header}.${payload}.${encoded}`)).toBeDefined();
      if (encoded.length % 4 === 0) return;
      const accepted = [...alphabet].filter(
        (last) => decodeJwt(`${header}.${payload}.${encoded.slice(0, -1)}${last}`) !== undefined,
      );
      expect(accepted).toHaveLength(encoded.length % 4 === 2 ? 4 : 16);
    }),
    // 64 decodings each.
    { numRuns: 20 },
  );
});

it("a token of any characters is either read or not a JWT, never an error", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      expect([undefined, "object"]).toContain(decodeJwt(text) && typeof decodeJwt(text));
    }),
  );
});

// A pattern with catastrophic backtracking would exceed the time limit of a test.
it.each(["A", ".", "_", "=", "\n"])("a hostile token of the greatest length is refused: %j", (character) => {
  expect(decodeJwt(character.repeat(16_384))).toBeUndefined();
});

it("RFC 7515 §4.1.9: types are case-insensitive and may omit application/", () => {
  expect(isTokenType("at+jwt", ["at+jwt"])).toBe(true);
  expect(isTokenType("application/AT+JWT", ["at+jwt"])).toBe(true);
  expect(isTokenType("at+jwt", ["application/at+jwt"])).toBe(true);
  expect(isTokenType("JWT", ["at+jwt"])).toBe(false);
  expect(isTokenType(undefined, ["at+jwt"])).toBe(false);
  expect(isTokenType("", ["at+jwt"])).toBe(false);
});
