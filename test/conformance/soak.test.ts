import { describe, expect, it } from "vitest";
import { type Tally, violationsOf } from "../soak/guarantee.ts";
import { phases } from "../soak/phases.ts";
import { runSoak } from "../soak/run-soak.ts";

function count(tally: Tally, phase: string, kind: string): number {
  const { accepted = 0, refused = 0 } = tally[phase]?.[kind] ?? {};
  return accepted + refused;
}

describe("protocols.md §2 I1: a check whose request was complete after a revocation returned is refused", () => {
  it("holds without faults, during control changes, for slow bodies, evictions, restarts and after them", {
    timeout: 240_000,
  }, async () => {
    const lines: string[] = [];
    const log = (line: string) => void lines.push(line);
    const { tally, done } = await runSoak({ seconds: 12, clients: 2, mode: "strict", phases, log });
    expect(violationsOf(tally), lines.join("\n")).toEqual([]);
    for (const { name, everyMs } of phases) {
      expect(Object.keys(done[name]!).sort(), name).toEqual(Object.keys(everyMs).sort());
      expect(count(tally, name, "introspection: token revoked"), name).toBeGreaterThan(0);
      expect(count(tally, name, "refresh: refresh token stolen"), name).toBeGreaterThan(0);
      for (const fate of ["signed out", "session ended", "consent withdrawn"]) {
        expect(count(tally, name, `introspection: ${fate}`), `${name}: ${fate}`).toBeGreaterThan(0);
      }
    }
    expect(count(tally, "slow bodies", "introspection: token revoked, slow body")).toBeGreaterThan(0);
  });
});
