import { heapBytes, IsolateCache, ownText, stringBytes } from "@edge-op/shared/runtime/isolate-cache";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const forever = Number.POSITIVE_INFINITY;

/** 1,000 characters and the key: 1,000 + 24 (value) + 24 + 4 (key) + 128 (entry). */
const text = "x".repeat(1_000);
const entryBytes = 1_180;

describe("a cache bounded by bytes", () => {
  it("holds as many entries as fit, and discards the oldest for a new one", () => {
    const cache = new IsolateCache<string>({ maxBytes: 3 * entryBytes });
    for (const key of ["key1", "key2", "key3"]) cache.set(key, text, forever);
    expect([cache.size, cache.bytes]).toEqual([3, 3 * entryBytes]);
    cache.set("key4", text, forever);
    expect(["key1", "key2", "key3", "key4"].map((key) => cache.get(key, 0) !== undefined)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(cache.bytes).toBe(3 * entryBytes);
  });

  it("discards several small entries for one large entry, and none for an entry larger than the cache", () => {
    const cache = new IsolateCache<string>({ maxBytes: 3 * entryBytes });
    for (const key of ["key1", "key2", "key3"]) cache.set(key, text, forever);
    cache.set("huge", "x".repeat(4_000), forever);
    expect([cache.size, cache.get("huge", 0)]).toEqual([3, undefined]);
    cache.set("big1", "x".repeat(2_000), forever);
    expect(["key1", "key2", "key3", "big1"].map((key) => cache.get(key, 0) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  it("does not keep returning a value that an entry larger than the cache has replaced", () => {
    const cache = new IsolateCache<string>({ maxBytes: 2 * entryBytes });
    cache.set("key1", "old", forever);
    cache.set("key1", "x".repeat(5_000), forever);
    expect([cache.get("key1", 0), cache.bytes]).toEqual([undefined, 0]);
  });

  it("counts what its owner attaches to a value", () => {
    const cache = new IsolateCache<string>({ maxBytes: 10_000, attachedBytes: (value) => value.length * 5 });
    cache.set("key1", text, forever);
    expect(cache.bytes).toBe(entryBytes + 5_000);
  });

  it("never exceeds its bound, and counts exactly its content, in any sequence of operations", () => {
    const key = fc.constantFrom("a", "b", "c", "d", "e");
    const step = fc.oneof(
      fc.record({ kind: fc.constant("set" as const), key, length: fc.nat(3_000), untilMs: fc.nat(100) }),
      fc.record({ kind: fc.constant("get" as const), key, atMs: fc.nat(100) }),
      fc.record({ kind: fc.constant("delete" as const), key }),
      fc.record({ kind: fc.constant("clear" as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = new IsolateCache<string>({ maxBytes: 6_000 });
        for (const taken of steps) {
          if (taken.kind === "set") cache.set(taken.key, "x".repeat(taken.length), taken.untilMs);
          else if (taken.kind === "get") cache.get(taken.key, taken.atMs);
          else if (taken.kind === "delete") cache.delete(taken.key);
          else cache.clear();
          expect(cache.bytes).toBeLessThanOrEqual(6_000);
        }
        const held = ["a", "b", "c", "d", "e"].flatMap((name) => cache.get(name, -1) ?? []);
        expect(cache.size).toBe(held.length);
        expect(cache.bytes).toBe(held.reduce((sum, value) => sum + value.length + 24 + 25 + 128, 0));
      }),
    );
  });
});

describe("the estimate of a value", () => {
  it.each([
    ["a string", "abcd", 28],
    ["a string outside Latin-1", "äöÜ€", 32],
    ["a small integer, a truth value, nothing", [1, true, null, undefined], 80],
    ["a point in time", [1_800_000_000_000], 72],
    ["an object", { a: "b" }, 81],
    ["bytes", new Uint8Array(100), 300],
  ])("%s", (_, value, bytes) => expect(heapBytes(value)).toBe(bytes));

  it("works for a value nested deeper than the stack", () => {
    let nested: unknown = [];
    for (let depth = 0; depth < 100_000; depth += 1) nested = [nested];
    expect(heapBytes(nested)).toBe(48 + 100_000 * 56);
  });
});

it("a copied text equals the original", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (any) => void expect(ownText(any)).toBe(any)));
  expect([ownText("\ufeffa"), ownText("\ud800"), stringBytes("\ud800")]).toEqual(["\ufeffa", "\ud800", 26]);
});
