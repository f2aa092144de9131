import { describe, expect, it } from "vitest";
import {
  type Confirmation,
  formatConfirmation,
  isConfirmedBy,
  readConfirmation,
} from "../../src/oauth/confirmation.ts";
import { presentationType } from "../../src/oauth/registered-names.ts";

const jkt = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
const x5t = "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2";

/** Confirmation claims, their parsed form, and the `token_type` of a token with them. */
const claims: readonly (readonly [string, Record<string, unknown>, Confirmation["method"], string])[] = [
  ["RFC 9449 §6.1 jkt", { jkt }, "jkt", "DPoP"],
  ["RFC 8705 §3.1 x5t#S256", { "x5t#S256": x5t }, "x5t#S256", "Bearer"],
  ["both thumbprints", { jkt, "x5t#S256": x5t }, "other", "N_A"],
  ["jkt with another member", { jkt, kid: "1" }, "other", "N_A"],
  ["RFC 7800 §3.2 jwk", { jwk: { kty: "OKP", crv: "Ed25519", x: "AA" } }, "other", "N_A"],
  ["jkt that is no text", { jkt: 1 }, "other", "N_A"],
  ["no member", {}, "other", "N_A"],
];

describe.each(claims)("%s", (_, claim, method, tokenType) => {
  const cnf = readConfirmation(claim);

  it(`is read as ${method}, is written unchanged, and has token_type ${tokenType}`, () => {
    expect(cnf.method).toBe(method);
    expect(formatConfirmation(cnf)).toEqual(claim);
    expect(presentationType(cnf)).toBe(tokenType);
  });
});

it("a key is confirmed only by itself, not by none, another key, or the same thumbprint of another method", () => {
  const bound = { method: "jkt", thumbprint: jkt } as const;
  expect(isConfirmedBy(bound, { ...bound })).toBe(true);
  expect(isConfirmedBy(bound, undefined)).toBe(false);
  expect(isConfirmedBy(bound, { method: "jkt", thumbprint: x5t })).toBe(false);
  expect(isConfirmedBy(bound, { method: "x5t#S256", thumbprint: jkt })).toBe(false);
});

it("without a confirmation: no cnf member, token_type Bearer, nothing to prove", () => {
  expect(formatConfirmation(undefined)).toBeUndefined();
  expect(presentationType(undefined)).toBe("Bearer");
  expect(isConfirmedBy(undefined, undefined)).toBe(true);
  expect(isConfirmedBy(undefined, { method: "jkt", thumbprint: jkt })).toBe(true);
});
