import fc from "fast-check";
import { expect, it } from "vitest";
import { formPairs } from "../../src/http/read-form.ts";

const awkward = [
  "a=1&b=2",
  "a=%C3%A9+x",
  "?a=1",
  "a",
  "=",
  "=b",
  "&&a=1&",
  "a==b",
  "a=%",
  "a=%zz",
  "a=%e9",
  "%EF%BB%BFa=1",
];

/** Pieces that are encodings, or almost. */
const piece = fc.constantFrom(
  "a",
  "é",
  "=",
  "&",
  "+",
  "%",
  "%2",
  "%20",
  "%C3%A9",
  "%c3",
  "%00",
  "?",
  "#",
  ";",
  " ",
  "😀",
  "\uFEFF",
);
const text = fc.oneof(
  fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join("")),
  fc.webQueryParameters(),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom(...awkward),
);

it("decodes every text as URLSearchParams does", () => {
  for (const example of awkward) expect([...formPairs(example)]).toEqual([...new URLSearchParams(example)]);
  fc.assert(
    fc.property(text, (form) => {
      expect([...formPairs(form)]).toEqual([...new URLSearchParams(form)]);
    }),
    { numRuns: 2_000 },
  );
});
