import { applyMergePatch } from "@edge-op/protocol/encoding/merge-patch";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** The examples of RFC 7396 Appendix A whose target and patch are objects. */
const appendixA: [target: string, patch: string, result: string][] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', "{}"],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

describe("RFC 7396: JSON Merge Patch", () => {
  it.each(appendixA)("RFC 7396 Appendix A: %s with %s is %s", (target, patch, result) => {
    expect(JSON.stringify(applyMergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(result);
  });

  it("RFC 7396 §2: a patch changes no member that it does not name", () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(object, object, (target, patch) => {
        const merged = applyMergePatch(target, patch);
        for (const [name, value] of Object.entries(target)) {
          if (!Object.hasOwn(patch, name)) expect(merged[name]).toBe(value);
        }
      }),
    );
  });

  it("RFC 7396 §2: a member named __proto__ is an ordinary member", () => {
    const merged = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
