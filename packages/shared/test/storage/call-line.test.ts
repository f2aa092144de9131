import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Call, CallLine, longestWaitMs, type Step } from "../../src/storage/call-line.ts";
import {
  type Behaviour,
  callMs,
  type LineClass,
  LineFixtures,
  type Run,
  type Simulated,
} from "../fixtures/call-line-fixtures.ts";

/**
 * Leaders that are lost, late, hung up or slow, in every order that fast-check finds. `LineFixtures` contains the properties of a correct line; the
 * mutants show that violations are detected.
 */
const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  gapMs: fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 0, max: 20 }) },
    { weight: 3, arbitrary: fc.integer({ min: 20, max: 700 }) },
    { weight: 1, arbitrary: fc.integer({ min: 700, max: 4_000 }) },
  ),
  sendMs: fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 100 }) },
    { weight: 1, arbitrary: fc.integer({ min: 100, max: callMs }) },
    { weight: 1, arbitrary: fc.constant(8 * callMs) },
  ),
  gatherMs: fc.constantFrom(0, 0, 2),
  lagMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 20 }) },
    { weight: 1, arbitrary: fc.integer({ min: 400, max: 3_000 }) },
  ),
  vanishesAfterMs: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  ),
});
const healthy = behaviour.map((each) => ({ ...each, lagMs: each.lagMs % 20, vanishesAfterMs: undefined }));
const arrivals = fc.oneof(
  fc.array(behaviour, { minLength: 1, maxLength: 24 }),
  fc.array(healthy, { minLength: 1, maxLength: 24 }),
);

const lines = [
  { name: "joining", joins: true, maxBatch: Number.POSITIVE_INFINITY },
  { name: "in large batches", joins: false, maxBatch: 100 },
  { name: "in batches of 3", joins: false, maxBatch: 3 },
  { name: "one by one", joins: false, maxBatch: 1 },
];

function check(line: LineClass, options: (typeof lines)[number], parameters: fc.Parameters<[Behaviour[]]>) {
  /** The violations of the smallest failing run. */
  let violations: readonly string[] = [];
  const total = { served: 0, gaveUp: 0, replaced: 0 };
  const result = fc.check(
    fc.property(arrivals, (behaviours) => {
      const run: Run = new LineFixtures(line, options).run(behaviours);
      total.served += run.served;
      total.gaveUp += run.gaveUp;
      total.replaced += run.replaced;
      if (run.violations.length > 0) violations = run.violations;
      return run.violations.length === 0;
    }),
    parameters,
  );
  return { result, total, violations };
}

describe.each(lines)("calls shared $name", (options) => {
  it("no interleaving of lost, late and slow leaders leaves a request waiting, unserved or served wrongly", () => {
    const { result, total, violations } = check(CallLine, options, { numRuns: 2_000 });
    expect(violations, fc.defaultReportMessage(result)).toEqual([]);
    expect(total.served).toBeGreaterThan(10_000);
    expect(total.replaced).toBeGreaterThan(100);
  });
});

it("the longest wait is two calls plus the time to detect lost leaders", () => {
  expect(longestWaitMs(5_000)).toBe(11_000);
});

const mutants: Readonly<Record<string, LineClass>> = {
  "a lost call is waited for all the same": class extends CallLine<Simulated> {
    protected override isLost(): boolean {
      return false;
    }
  },
  "an arrival does not notice that a call is lost": class extends CallLine<Simulated> {
    #isArriving = false;

    override arrive(waiter: Simulated, atMs: number): Step<Simulated> {
      this.#isArriving = true;
      const step = super.arrive(waiter, atMs);
      this.#isArriving = false;
      return step;
    }

    protected override isLost(call: Call<Simulated>, atMs: number): boolean {
      return !this.#isArriving && super.isLost(call, atMs);
    }
  },
  "the waiters of a lost call stay behind": class extends CallLine<Simulated> {
    protected override takeAlong(leader: Simulated, _: Call<Simulated> | undefined, queue: readonly Simulated[]) {
      return super.takeAlong(leader, undefined, queue);
    }
  },
  "who has given up is carried on": class extends CallLine<Simulated> {
    override check(waiter: Simulated, atMs: number): Step<Simulated> {
      const step = super.check(waiter, atMs);
      if (step.kind === "giveUp") waiter.isDone = false;
      return step;
    }
  },
  "a lost call that comes back ends its successor": class extends CallLine<Simulated> {
    #newest: Call<Simulated> | undefined;

    override depart(call: Call<Simulated>) {
      const waiters = super.depart(call);
      if (waiters !== undefined) this.#newest = call;
      return waiters;
    }

    override end(call: Call<Simulated>, serve: (waiter: Simulated, index: number) => void) {
      return super.end(this.#newest ?? call, serve);
    }
  },
  "a leader that was replaced sends after all": class extends CallLine<Simulated> {
    override depart(call: Call<Simulated>) {
      return super.depart(call) ?? call.waiters;
    }
  },
  "nobody is signalled when a call ends": class extends CallLine<Simulated> {
    override end(call: Call<Simulated>, serve: (waiter: Simulated, index: number) => void): undefined {
      super.end(call, serve);
    }
  },
  "a waiter leads however late it is": class extends CallLine<Simulated> {
    override check(waiter: Simulated, atMs: number): Step<Simulated> {
      const patient = { ...waiter, arrivedAtMs: atMs };
      const step = super.check(patient, atMs);
      if (step.kind === "lead") step.call.waiters[0] = waiter;
      return step;
    }
  },
};

describe("mutants", () => {
  it.each(Object.entries(mutants))("%s: is noticed", (_, mutant) => {
    const failed = lines.map(
      (options) => check(mutant, options, { numRuns: 1_000, seed: 1, endOnFailure: true }).result.failed,
    );
    expect(failed).toContain(true);
  });
});
