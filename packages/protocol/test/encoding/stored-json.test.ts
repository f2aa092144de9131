import { describe, expect, it } from "vitest";
import { isFlag, isNumber, isText, listOf, objectOf, readStored, recordOf } from "../../src/encoding/stored-json.ts";

interface Row {
  readonly name: string;
  readonly count: number;
  readonly isOn: boolean;
  readonly tags: readonly string[];
  readonly note?: string;
}

const isRow = objectOf<Row>({ name: isText, count: isNumber, isOn: isFlag, tags: listOf(isText) });
const row = { name: "a", count: 1, isOn: false, tags: ["x"] };

describe("readStored", () => {
  it("reads what has the form, with members that a later release has added", () => {
    const stored = { ...row, note: "n", later: 1 };
    expect(readStored("row", JSON.stringify(stored), isRow)).toEqual(stored);
    expect(readStored("rows", JSON.stringify({ one: row }), recordOf(isRow))).toEqual({ one: row });
  });

  it.each([
    ["no object", [row]],
    ["null", null],
    ["a member that is absent", { ...row, name: undefined }],
    ["a number as text", { ...row, count: "1" }],
    ["a flag as number", { ...row, isOn: 0 }],
    ["a list as text", { ...row, tags: "x" }],
    ["a wrong item of a list", { ...row, tags: ["x", 1] }],
  ])("refuses %s, and does not repeat it", (_, stored) => {
    expect(() => readStored("row", JSON.stringify(stored), isRow)).toThrow("what is stored as row has another form");
  });

  it("refuses a wrong member of a record", () => {
    expect(() => readStored("rows", JSON.stringify({ one: row, two: {} }), recordOf(isRow))).toThrow("another form");
  });
});
