import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ProofMachine } from "../../packages/op-state/src/challenges/proof-machine.ts";
import { ProofTable } from "../../packages/op-state/src/challenges/proof-table.ts";
import { type ProofCounts, ProofWorld } from "./proof-world.ts";
import { around, type Restore } from "./replace-method.ts";
import { runCount } from "./run-count.ts";

/** **DPoP proofs that shards keep in memory, under faults** (protocols.md §6, P1 to P3), by the product's own classes. */
beforeAll(() => {
  // The world calls the ledgers when their timers would.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
});
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const runs = runCount(30, 100);
const mutantRuns = 60;
const first = Number(process.env["SIMULATION_SEED"] ?? Math.floor(Math.random() * 1_000_000));

test(`P1, P3: a proof is accepted once, and an honest client repeats a request once, in ${runs} histories`, () => {
  const total: ProofCounts = { accepted: 0, refusals: 0, retries: 0, losses: 0, saves: 0, superseded: 0 };
  for (let seed = first; seed < first + runs; seed += 1) {
    const world = new ProofWorld(seed);
    world.run();
    expect(world.violations, `seed ${seed}`).toEqual([]);
    for (const name of Object.keys(total) as (keyof ProofCounts)[]) total[name] += world.counts[name];
  }
  for (const [name, count] of Object.entries(total)) expect(count, name).toBeGreaterThan(runs);
});

const mutants: Readonly<Record<string, () => Restore>> = {
  "proofs without a nonce accepted after a start": () => around(ProofMachine, "fenceAfter", () => 0),
  "a fence that forgets how far clocks differ": () =>
    around(ProofMachine, "fenceAfter", (_, original, durable) => original(durable) - 60_000),
  "a fence that a saved memory forgets": () =>
    around(ProofMachine, "saved", (_, original, nowMs) => ({ ...original(nowMs)!, fenceMs: 0 })),
  "a nonce of an earlier memory accepted": () =>
    around(ProofMachine, "isNewer", (_, original, proof) => proof.boot !== undefined || original(proof)),
  "a nonce of a later memory accepted by a superseded one": () =>
    around(ProofMachine, "isNewer", (_, original, proof) => original(proof) || original({ ...proof, boot: undefined })),
  "a memory with the name of the one before it": () => {
    const names = vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => bytes);
    return () => names.mockRestore();
  },
  "proofs forgotten before they have ended": () =>
    around(ProofTable, "forget", (_, original, atMs) => original(atMs + 60_000)),
  "a clock that goes back with the next instance": () =>
    around(ProofMachine, "saved", (_, original, nowMs) => ({ ...original(nowMs)!, atMs: 0 })),
  "proofs accepted after the hold": () =>
    around(ProofMachine, "due", (self, original, nowMs) => (self.isHeld ? undefined : original(nowMs))),
  "proofs accepted without a durable hold": () => around(ProofMachine, "due", () => undefined),
  "a hold that ends later than it says": () =>
    around(ProofMachine, "hold", (_, original, { heldUntilMs }) =>
      original({ heldUntilMs: heldUntilMs === null ? null : heldUntilMs + 120_000 }),
    ),
  "a saved memory without its proofs": () =>
    around(ProofMachine, "saved", (_, original, nowMs) => ({ ...original(nowMs)!, table: new Uint8Array(0) })),
  "a repeated call of another operation taken for the same": () =>
    around(ProofTable, "find", (_, original, entry) => (original(entry) === "other" ? "same" : original(entry))),
  "a memory that demands a nonce of every proof": () =>
    around(ProofMachine, "isNewer", (self, _, { boot }) => boot === self.boot),
  "a memory that accepts no nonce of its own": () =>
    around(ProofMachine, "isNewer", (_, original, proof) => original({ ...proof, boot: undefined })),
};

test.each(Object.entries(mutants))("the simulation of proofs catches %s", (_, install) => {
  const restore = install();
  try {
    const violations: string[] = [];
    for (let seed = 1; seed <= mutantRuns && violations.length === 0; seed += 1) {
      const world = new ProofWorld(seed);
      world.run();
      violations.push(...world.violations);
    }
    expect(violations).not.toEqual([]);
  } finally {
    restore();
  }
});
