import { describe, expect, it } from "vitest";
import { formatUserCode, newUserCode, readUserCode } from "../../src/codes/user-code.ts";

describe("RFC 8628 §6.1: user codes", () => {
  it("has eight of twenty letters, and every letter occurs at every position", () => {
    const codes = Array.from({ length: 2_000 }, newUserCode);
    expect(codes.every((code) => /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/.test(code))).toBe(true);
    expect(new Set(codes).size).toBe(2_000);
    const places = Array.from({ length: 8 }, (_, at) => new Set(codes.map((code) => code[at])).size);
    expect(places).toEqual(Array<number>(8).fill(20));
  });

  it.each([
    "BCDF-GHJK",
    "bcdfghjk",
    " bcdf ghjk ",
    "BCDF–GHJK",
    "b-c-d-f-g-h-j-k",
    "https://op.example.com/device?user_code=BCDF-GHJK",
  ])("reads %s", (typed) => {
    expect(readUserCode(typed)).toBe("BCDFGHJK");
  });

  it.each(["", "BCDF-GHJ", "BCDF-GHJKL", "BCDF-GHJA", "BCDF-GHJ1"])("refuses %j", (typed) => {
    expect(readUserCode(typed)).toBeUndefined();
  });

  it("is shown in two halves", () => expect(formatUserCode("BCDFGHJK")).toBe("BCDF-GHJK"));
});
