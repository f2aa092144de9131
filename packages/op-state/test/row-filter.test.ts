import { hashInto, RowFilter } from "@edge-op/shared/leases/row-filter";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { buildRowFilter, buildSmallRowFilter, FilterKeys } from "../src/revocation/build-row-filter.ts";

const hashKey = fc.record({ k0: fc.integer(), k1: fc.integer() });
const seeds = (first: number) => {
  let seed = first;
  return () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0);
};

function filterOf(keys: readonly string[], key = { k0: 1, k1: 2 }): RowFilter {
  const hashes = new FilterKeys(key);
  for (const each of keys) hashes.add(each);
  return new RowFilter(buildSmallRowFilter(hashes, seeds(7))!);
}

it("HalfSipHash-2-4: the vectors of the reference implementation", () => {
  const words = new Uint32Array(2);
  const vectors = ["", "\0", "\0\u0001", "\0\u0001\u0002", "\0\u0001\u0002\u0003"].map((text) => {
    hashInto(text, { k0: 0x03020100, k1: 0x07060504 }, words, 0);
    return [...new Uint8Array(words.buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  });
  expect(vectors).toEqual([
    "218d1f59b9b83cc8",
    "be552412f8387315",
    "064f39ef7c50eb57",
    "ce0f1a45f7060679",
    "d5e78a175be52ea1",
  ]);
});

it("every key that was added is found, for any keys, number and hash key", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: "binary-ascii" }), { maxLength: 400 }), hashKey, (keys, key) => {
      const filter = filterOf(keys, key);
      expect(filter.rows).toBe(keys.length);
      for (const each of keys) expect(filter.mayContain(each)).toBe(true);
    }),
  );
});

it("another key is found with a probability of 1/512, at 10.2 to 12 bits a key", () => {
  const filter = filterOf(Array.from({ length: 50_000 }, (_, index) => `g:${index}`));
  let found = 0;
  for (let index = 0; index < 100_000; index += 1) if (filter.mayContain(`j:${index}`)) found += 1;
  expect(found / 100_000).toBeGreaterThan(0.0014);
  expect(found / 100_000).toBeLessThan(0.0026);
  expect((filter.bytes.length * 8) / 50_000).toBeLessThan(11.2);
});

it("an empty filter contains nothing", () => {
  expect(filterOf([]).mayContain("j:a")).toBe(false);
});

it("the same keys under another hash key give other bytes, so accidental matches cannot be chosen", () => {
  const keys = Array.from({ length: 5_000 }, (_, index) => `j:${index}`);
  const chance = (filter: RowFilter) =>
    Array.from({ length: 20_000 }, (_, index) => `g:${index}`).filter((key) => filter.mayContain(key));
  const [one, two] = [chance(filterOf(keys, { k0: 1, k1: 2 })), chance(filterOf(keys, { k0: 1, k1: 3 }))];
  expect(one.filter((key) => two.includes(key)).length).toBeLessThan(5);
});

it("is built in slices, and a copy of its bytes is the same filter", () => {
  const keys = new FilterKeys({ k0: 3, k1: 4 });
  for (let index = 0; index < 40_000; index += 1) keys.add(`j:${index}`);
  const build = buildRowFilter(keys, seeds(1));
  let slices = 1;
  let step = build.next();
  for (; step.done !== true; step = build.next()) slices += 1;
  expect(slices).toBeGreaterThan(9);
  const copy = new RowFilter(structuredClone(step.value!));
  for (let index = 0; index < 40_000; index += 1)
    if (!copy.mayContain(`j:${index}`)) expect.fail(`${index} is missing`);
});

it("bytes that are not a filter of this format are refused", () => {
  const { bytes } = filterOf(["j:a"]);
  const otherFormat = bytes.slice();
  otherFormat[0] = 2;
  for (const wrong of [new Uint8Array(0), otherFormat, bytes.slice(0, -1)])
    expect(() => new RowFilter(wrong)).toThrow();
});
