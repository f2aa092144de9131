import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { ReadSet } from "../../src/control/read-set.ts";
import { type OpenDecision, readsBegun } from "../../src/control/settle.ts";
import { logDecided } from "../../src/http/request-context.ts";
import { type NamedRecord, SettleFixtures, type SettleFlaws } from "../fixtures/settle-fixtures.ts";

const app: NamedRecord = { kind: "client", id: "app" };
const alice: NamedRecord = { kind: "user", id: "alice" };
const other: NamedRecord = { kind: "client", id: "other" };

/** An isolate that knows the first change, of a client that no test reads. */
async function warmFixtures(): Promise<SettleFixtures> {
  const fixtures = new SettleFixtures();
  fixtures.change(other);
  await fixtures.learn();
  return fixtures;
}

it("a result is confirmed before it is returned, at the version of its decision", async () => {
  const fixtures = await warmFixtures();
  expect(await fixtures.settle(async () => "answer")).toBe("answer");
  expect(fixtures.confirmations).toBe(1);
});

it("a cold isolate learns the version before it decides", async () => {
  const fixtures = new SettleFixtures();
  fixtures.change(app);
  expect(await fixtures.settle(async () => fixtures.read(app))).toBe(1);
});

it("if the version moved before the request arrived, the decision is made again, even a refusal", async () => {
  const responses = await warmFixtures();
  responses.change(app);
  expect(await responses.settle(async () => responses.read(app))).toBe(2);
  const refusals = await warmFixtures();
  refusals.change(app);
  const decide = async () => {
    if (refusals.read(app) === 0) throw new OAuthError("invalid_client", "client-secret-wrong");
    return "accepted";
  };
  expect(await refusals.settle(decide)).toBe("accepted");
});

describe("what a decision logs", () => {
  async function linesOf(decide: (fixtures: SettleFixtures, log: () => void) => Promise<unknown>): Promise<number> {
    const fixtures = await warmFixtures();
    fixtures.change(app);
    const lines = vi.spyOn(console, "info").mockImplementation(() => {});
    const { context } = fixtures;
    const log = () => logDecided(context, "scope-dropped", { clientId: "app", dropped: [], requestId: "request" });
    try {
      await fixtures.settle(() => decide(fixtures, log)).catch(() => {});
      return lines.mock.calls.length;
    } finally {
      lines.mockRestore();
    }
  }

  it.each<[string, number, (fixtures: SettleFixtures, log: () => void) => Promise<unknown>]>([
    [
      "is logged once although the first attempt read what has changed",
      1,
      async (fixtures, log) => {
        fixtures.read(app);
        log();
      },
    ],
    [
      "is logged once with a refusal",
      1,
      async (fixtures, log) => {
        fixtures.read(app);
        log();
        throw new OAuthError("invalid_grant", "code-expired");
      },
    ],
    [
      "is logged once if a store does not respond",
      1,
      async (_, log) => {
        log();
        throw new UnavailableError("D1", new Error("late"));
      },
    ],
    [
      "is not logged if only an attempt that was made again found it",
      0,
      async (fixtures, log) => {
        if (fixtures.read(app) === 0) log();
      },
    ],
  ])("%s", async (_, expected, decide) => {
    expect(await linesOf(decide)).toBe(expected);
  });
});

it("a confirmed refusal is the result", async () => {
  const fixtures = await warmFixtures();
  const refuse = async () => {
    throw new OAuthError("invalid_grant", "code-expired");
  };
  await expect(fixtures.settle(refuse)).rejects.toThrow("invalid_grant: The authorization code has expired.");
});

it("a decision at an older version spends nothing", async () => {
  const fixtures = await warmFixtures();
  fixtures.change(app);
  const spentAt: (number | undefined)[] = [];
  await fixtures.settle(async (decision) => {
    fixtures.read(app);
    await decision.commit();
    spentAt.push(fixtures.control.version);
  });
  expect(spentAt).toEqual([2]);
});

it("a credential that was spent is not spent again when the version moves afterwards", async () => {
  const fixtures = await warmFixtures();
  let spent = 0;
  const decide = async (decision: OpenDecision) => {
    fixtures.read(app);
    await decision.commit();
    spent += 1;
    fixtures.change(app);
    await fixtures.learn();
    fixtures.read(alice);
    return "token";
  };
  expect(await fixtures.settle(decide)).toBe("token");
  expect(spent).toBe(1);
});

describe("ADR 12: a decision", () => {
  it("stands however often the version moves, if its records did not change in between", async () => {
    const fixtures = await warmFixtures();
    let attempts = 0;
    const decide = async () => {
      attempts += 1;
      for (const record of [app, alice, app]) {
        fixtures.read(record);
        fixtures.change(other);
        await fixtures.learn();
      }
      return "answer";
    };
    expect(await fixtures.settle(decide)).toBe("answer");
    expect(attempts).toBe(1);
  });

  it("stands if the version was confirmed after it began, and its records are still current", async () => {
    const fixtures = await warmFixtures();
    let attempts = 0;
    fixtures.change(other);
    const decide = async () => {
      attempts += 1;
      return fixtures.read(app);
    };
    expect(await fixtures.settle(decide)).toBe(0);
    expect([attempts, fixtures.control.version]).toEqual([1, 2]);
  });

  it("is made again if one of its records changes before it is committed, by a change that the isolate knows", async () => {
    const fixtures = await warmFixtures();
    let attempts = 0;
    const decide = async () => {
      attempts += 1;
      const value = fixtures.read(app);
      if (attempts === 1) {
        fixtures.change(app);
        await fixtures.learn();
      }
      return value;
    };
    expect(await fixtures.settle(decide)).toBe(2);
    expect(attempts).toBe(2);
  });

  it("is made again if an earlier record changed before a later read, because the two were never current together", async () => {
    const fixtures = await warmFixtures();
    let attempts = 0;
    const decide = async () => {
      attempts += 1;
      const read = [fixtures.read(app)];
      if (attempts < 4) {
        fixtures.change(app);
        await fixtures.learn();
      }
      return [...read, fixtures.read(alice)];
    };
    expect(await fixtures.settle(decide)).toEqual([fixtures.newest, 0]);
    expect(attempts).toBe(4);
  });

  it("is 503 if that happens in every attempt", async () => {
    const fixtures = await warmFixtures();
    let attempts = 0;
    const decide = async () => {
      attempts += 1;
      fixtures.read(app);
      fixtures.change(app);
      await fixtures.learn();
      fixtures.read(alice);
    };
    await expect(fixtures.settle(decide)).rejects.toThrow(UnavailableError);
    expect(attempts).toBe(8);
  });
});

it("a credential spent after a validation is spent again if a record changed, because the decision is made again", async () => {
  const fixtures = await warmFixtures();
  let spent = 0;
  const decide = async (decision: OpenDecision) => {
    const value = fixtures.read(app);
    await decision.validate();
    spent += 1;
    if (spent === 1) {
      fixtures.change(app);
      await fixtures.learn();
    }
    return value;
  };
  expect(await fixtures.settle(decide)).toBe(2);
  expect(spent).toBe(2);
});

it("R6: a repeated decision that refuses is a refusal, and what the first attempt has spent stays spent", async () => {
  const fixtures = await warmFixtures();
  let spent = 0;
  const decide = async (decision: OpenDecision) => {
    if (fixtures.read(app) > 0) throw new OAuthError("invalid_client", "client-disabled");
    await decision.validate();
    spent += 1;
    fixtures.change(app);
    await fixtures.learn();
  };
  await expect(fixtures.settle(decide)).rejects.toThrow(OAuthError);
  expect(spent).toBe(1);
});

describe("a store that may commit the decision writes once", () => {
  const judged = { version: 1, reads: [app] };
  it.each<
    readonly [string, { isConfirmed?: boolean; hasVersion?: boolean; vouches?: boolean }, readonly unknown[], number]
  >([
    ["in the call that confirms", { vouches: true }, [judged], 0],
    ["after the commit if it does not vouch for the reads", { vouches: false }, [judged, undefined], 1],
    ["without a condition if the version is confirmed", { isConfirmed: true }, [undefined], 1],
    ["after the commit if a read has no version", { hasVersion: false }, [undefined], 1],
  ])("%s", async (_, { isConfirmed = false, hasVersion = true, vouches = true }, calls, confirmations) => {
    const fixtures = await warmFixtures();
    const conditions: unknown[] = [];
    let attempts = 0;
    await fixtures.settle(async (decision) => {
      fixtures.read(app);
      if (!hasVersion && attempts === 0) fixtures.context.progress.reads?.note(app.kind, app.id, -1);
      attempts += 1;
      if (isConfirmed) await decision.commit();
      await decision.commitWith(async (condition) => {
        conditions.push(condition);
        return condition === undefined || vouches;
      });
      return "written";
    });
    expect([conditions, fixtures.confirmations]).toEqual([calls, confirmations]);
  });
});

it("a copy of an earlier version is judged, also when the version was found current before it was noted", async () => {
  const { control } = await warmFixtures();
  const reads = new ReadSet(control);
  expect(reads.areCurrent()).toBe(true);
  reads.note(app.kind, app.id, 0);
  expect(reads.areCurrent()).toBe(true);
  reads.note(other.kind, other.id, 0);
  expect(reads.areCurrent()).toBe(false);
});

it("unavailability and bugs are thrown immediately", async () => {
  const fixtures = await warmFixtures();
  const fail = async () => {
    throw new UnavailableError("D1");
  };
  await expect(fixtures.settle(fail)).rejects.toThrow("D1 did not respond");
  expect(fixtures.confirmations).toBe(0);
});

describe("any changes while requests are decided", () => {
  const records = [app, alice, { kind: "rbac", id: "alice" }, { kind: "keys", id: "*" }] as const;
  type Step =
    | { readonly kind: "read"; readonly record: number; readonly age: number }
    | { readonly kind: "change"; readonly record: number }
    | { readonly kind: "learn" | "validate" | "commit" };
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      kind: fc.constant("read" as const),
      record: fc.integer({ min: 0, max: 3 }),
      age: fc.integer({ min: 0, max: 4 }),
    }),
    fc.record({ kind: fc.constant("change" as const), record: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ kind: fc.constantFrom("learn" as const, "learn" as const, "validate" as const, "commit" as const) }),
  );

  /** The records that the attempt that stood had read, and the changes that contradicted it. */
  async function run(steps: readonly Step[], before: readonly number[], fixtures: SettleFixtures, isCold = false) {
    fixtures.change(other);
    if (!isCold) await fixtures.learn();
    for (const record of before) fixtures.change(records[record]!);
    const acknowledged = fixtures.newest;
    let reads: { readonly record: NamedRecord; readonly value: number }[] = [];
    let spent: typeof reads | undefined;
    // Changes continue through all attempts, and stop at some point.
    let changesLeft = 20;
    const decide = async (decision: OpenDecision) => {
      reads = [];
      for (const next of steps) {
        if (next.kind === "learn") await fixtures.learn();
        else if (next.kind === "validate") await decision.validate();
        else if (next.kind === "commit") {
          await decision.commit();
          spent ??= [...reads];
        } else if (next.kind === "read") {
          const record = records[next.record]!;
          reads.push({ record, value: fixtures.read(record, next.age) });
        } else if (next.kind === "change" && changesLeft > 0) {
          changesLeft -= 1;
          fixtures.change(records[next.record]!);
        }
      }
      return "decided";
    };
    const begun = isCold ? readsBegun : undefined;
    const decision = await fixtures.settle(decide, begun).catch((error: unknown) => error);
    return { decision, decided: spent ?? reads, acknowledged };
  }

  /** Whether all of it was current together at one version, no older than the arrival. */
  function isAtOneVersion(
    fixtures: SettleFixtures,
    { decided, acknowledged }: Awaited<ReturnType<typeof run>>,
  ): boolean {
    for (let version = acknowledged; version <= fixtures.newest; version += 1) {
      if (decided.every(({ record, value }) => fixtures.valueAt(record, version) === value)) return true;
    }
    return false;
  }

  const inputs = [
    fc.array(step, { maxLength: 10 }),
    fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
  ] as const;
  const holds = (flaws: SettleFlaws, isCold = false) =>
    fc.asyncProperty(...inputs, async (steps, before) => {
      const fixtures = new SettleFixtures(flaws);
      const result = await run(steps, before, fixtures, isCold);
      return result.decision instanceof UnavailableError || isAtOneVersion(fixtures, result);
    });

  it("a decision is at one control version, no older than the request's arrival", async () => {
    await fc.assert(holds({}), { numRuns: 3_000 });
  });

  it("the same holds in an isolate that knows no version, by copies that carry their own", async () => {
    await fc.assert(holds({}, true), { numRuns: 3_000 });
  });

  it("503 is only for requests whose own records change in every attempt", async () => {
    const property = fc.asyncProperty(...inputs, async (steps, before) => {
      const unrelated = steps.map((each): Step => (each.kind === "change" ? { kind: "change", record: 3 } : each));
      const readsNoKeys = unrelated.filter((each) => !(each.kind === "read" && each.record === 3));
      const { decision } = await run(readsNoKeys, before, new SettleFixtures());
      return decision === "decided";
    });
    await fc.assert(property, { numRuns: 1_000 });
  });

  it.each([
    ["an isolate that takes what it knows for confirmed", { isAlwaysConfirmed: true }, false],
    ["caches that do not note what they are read for", { notesNothing: true }, false],
    ["a copy that counts as read at the first version", { ignoresCopyVersions: true }, true],
  ] as const)("mutant: %s is noticed", async (_, flaws, isCold) => {
    const { failed } = await fc.check(holds(flaws, isCold), { numRuns: 3_000, seed: 1, endOnFailure: true });
    expect(failed).toBe(true);
  });
});
