import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { MailMachine } from "../../packages/op-state/src/mail/mail-machine.ts";
import { MailRows } from "../../packages/op-state/src/mail/mail-rows.ts";
import { SignInAttempts } from "../../packages/op-state/src/sessions/sign-in-attempts.ts";
import { findMailViolations, MailWorld } from "./mail-world.ts";
import { around, type Restore } from "./replace-method.ts";
import { runCount } from "./run-count.ts";

/**
 * **The outbox of mails under faults**, by the product's own class: Workers that end before or after the commit, releases that are lost, late or sent
 * twice, an object that restarts while it sends, a provider that is down, that limits, and whose responses are lost, and a D1 that does not respond.
 */
beforeAll(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  for (const level of ["info", "warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const runs = runCount(50, 150);
/** Of a mutant, from the first seed. */
const mutantRuns = 150;

async function violationsIn(seeds: Iterable<number>): Promise<string[]> {
  for (const seed of seeds) {
    const world = new MailWorld(seed);
    await world.run();
    const violations = findMailViolations(world);
    if (violations.length > 0) return violations.map((violation) => `seed ${seed}: ${violation}`);
  }
  return [];
}

const first = Number(process.env["SIMULATION_SEED"] ?? Math.floor(Math.random() * 1_000_000));
const seedsFrom = (from: number, length: number) => Array.from({ length }, (_, index) => from + index);

test(`a mail is sent if and only if its change is committed, in ${runs} histories`, async () => {
  expect(await violationsIn(seedsFrom(first, runs))).toEqual([]);
});

const mutants: Readonly<Record<string, () => Restore>> = {
  "a mail that is sent before its change is known to be committed": () =>
    around(MailMachine, "afterLookUp", (_, original, mail, _isReleased, found, nowMs) =>
      original(mail, true, found, nowMs),
    ),
  "a mail that only a release sends": () =>
    around(MailMachine, "afterLookUp", (_, original, mail, isReleased, found, nowMs) =>
      original(mail, isReleased, found && { ...found, isCommitted: false }, nowMs),
    ),
  "a change that is given up at the first look": () =>
    around(MailMachine, "afterLookUp", (_, original, mail, isReleased, found, nowMs) =>
      original({ ...mail, createdAtMs: 0 }, isReleased, found, nowMs),
    ),
  "a D1 that does not respond, taken for no change": () =>
    around(MailMachine, "afterLookUp", (_, original, mail, isReleased, found, nowMs) =>
      original({ ...mail, createdAtMs: 0 }, isReleased, found ?? { isCommitted: false, addresses: [] }, nowMs),
    ),
  "a mail that is deleted before the provider has accepted it": () =>
    around(MailMachine, "afterSend", (_, original, mail, _result, nowMs) =>
      original(mail, { kind: "sent", id: "" }, nowMs),
    ),
  "a refused mail that is sent again at once": () =>
    around(MailMachine, "afterSend", (_, original, mail, result, nowMs) => {
      const step = original(mail, result, nowMs);
      return step.kind === "wait" ? { ...step, dueMs: nowMs } : step;
    }),
  "a mail without an end": () =>
    around(MailRows, "insert", (_, original, row) => original({ ...row, untilMs: row.untilMs + 10 * 86_400_000 })),
  "a person who can be flooded": () => around(SignInAttempts, "reserve", () => ({ kind: "allowed", lane: [] })),
  "a provider that limits and is not obeyed": () =>
    around(MailMachine, "afterSend", (_, original, mail, result, nowMs) =>
      original(mail, result.kind === "retry" ? { kind: "retry", problem: "" } : result, nowMs),
    ),
  "a mail that stays beside those for its addresses": () =>
    around(MailRows, "replace", (self, _, _id, addressed) => {
      for (const row of addressed) self.insert(row);
    }),
};

test.each(Object.entries(mutants))("the simulation of mails catches %s", async (_, install) => {
  const restore = install();
  try {
    expect(await violationsIn(seedsFrom(1, mutantRuns))).not.toEqual([]);
  } finally {
    restore();
  }
});
