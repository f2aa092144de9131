import { HashedRows } from "@edge-op/shared/leases/hashed-rows";
import * as fc from "fast-check";
import { expect, it } from "vitest";

it("contains the same rows as a map, for any additions and prunings", () => {
  const step = fc.oneof(
    fc.record({ key: fc.integer({ min: 0, max: 60 }).map(String), untilMs: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ pruneMs: fc.integer({ min: 0, max: 100 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const rows = new HashedRows();
      const model = new Map<string, number>();
      for (const each of steps) {
        if ("pruneMs" in each) {
          rows.prune(each.pruneMs * 1_000);
          for (const [key, untilMs] of model) if (untilMs <= each.pruneMs) model.delete(key);
        } else {
          rows.add(each.key, each.untilMs * 1_000);
          model.set(each.key, Math.max(each.untilMs, model.get(each.key) ?? 0));
        }
        expect(rows.size).toBe(model.size);
        for (let key = 0; key <= 60; key += 1) expect(rows.has(String(key))).toBe(model.has(String(key)));
      }
    }),
  );
});

it("takes at most 36 bytes a row, and none when empty", () => {
  const rows = new HashedRows();
  expect(rows.bytes).toBe(0);
  for (let index = 1; index <= 20_000; index += 1) {
    rows.add(`j:${index}`, 1_000);
    if (index > 16) expect(rows.bytes / index).toBeLessThanOrEqual(36);
  }
  rows.prune(1_000);
  expect([rows.size, rows.bytes]).toEqual([0, 0]);
});
