import { describe, expect, it } from "vitest";
import { explore, mutants, rules } from "./simulation/drain-model.ts";

describe("R7, G2: a grant that moves between generations while it is revoked (ADR 16)", () => {
  it("no state that can be reached accepts a revoked token, or retires a generation too early", () => {
    const { states, fault } = explore(rules);
    expect(fault).toBe(undefined);
    expect(states).toBeGreaterThan(50_000);
  }, 60_000);

  it.each(Object.entries(mutants))("finds %s", (_, change) => {
    expect(explore({ ...rules, ...change }).fault).toBeDefined();
  });
});
