import type { RotateRequest } from "@edge-op/shared/refresh/refresh-family-rpc";
import fc from "fast-check";
import { expect, it } from "vitest";
import { decideRotation, decideTakeBack, type FamilyRow } from "../src/refresh/rotation-machine.ts";
import { firstPlace, jtiAt, newFamily, registration } from "./fixtures/rotation-fixtures.ts";

type TakeBack = typeof decideTakeBack;

const address = { generation: 1, region: "wnam", shard: 0 };
const graceMs = 30_000;
const accessToken = { jti: jtiAt(firstPlace, "first"), iatSeconds: 0, expSeconds: 3_600 };

function newRow(): FamilyRow {
  const family = newFamily();
  const { scope, resources } = family;
  const successor = {
    scope,
    resources,
    accessToken,
    address,
    operationId: "login",
    places: [{ address: firstPlace, untilMs: 0 }],
  };
  const snapshot = { family, version: 0, rotatedAtMs: 0, replays: 0, status: "live" as const, successor };
  return { snapshot, movedTo: undefined };
}

interface Step {
  /** Requests of two clients' tabs; each uses the version that it got last, or began with. */
  readonly request: 0 | 1;
  readonly outcome: "granted" | "refused" | "late refusal";
  /** Whether a granted request was checked before its use. */
  readonly isChecked: boolean;
  readonly waitMs: number;
}

/**
 * Two requests at a time use a family, checked or not; the undoing of a refused one may arrive later. Whoever was given a successor can use it, and
 * nobody who uses the newest token, or the one before within the grace, is taken for a thief. Returns what went wrong.
 */
function run(steps: readonly Step[], takeBack: TakeBack): string | undefined {
  let row = newRow();
  let atMs = 0;
  let given = 0;
  const late: string[] = [];
  const undo = (operationId: string) => {
    row = takeBack(row, operationId) ?? row;
  };
  for (const [index, { request, outcome, isChecked, waitMs }] of steps.entries()) {
    atMs += waitMs;
    const operationId = `${request}-${index}`;
    const sent: RotateRequest = {
      ...registration,
      ...{ clientId: "app", cnf: undefined, scope: undefined, resources: undefined, keepsToken: false },
      ...{ bindsToken: false, dropsScope: false, graceMs, maxReplays: 1_000, tokensEndAtMs: 0, hopTo: undefined },
      ...{ handover: undefined, grantId: "grant", version: given, address, operationId },
      accessToken: { ...accessToken, jti: jtiAt(firstPlace, operationId) },
    };
    const use = (isUnchecked: boolean) => {
      const { result, next } = decideRotation(row, { ...sent, isUnchecked }, atMs);
      row = next ?? row;
      return result;
    };
    let result = use(outcome !== "granted" || !isChecked);
    if (outcome === "granted" && result.kind === "unchecked_request") result = use(false);
    if (outcome === "granted") {
      if (result.kind !== "rotated" && result.kind !== "replayed") return `${result.kind} to version ${given}`;
      given = result.version;
    } else if (outcome === "refused") {
      undo(operationId);
    } else late.push(operationId);
    if (request === 1) for (const operation of late.splice(0)) undo(operation);
  }
  return undefined;
}

const step: fc.Arbitrary<Step> = fc.record({
  request: fc.constantFrom(0 as const, 1 as const),
  outcome: fc.constantFrom("granted" as const, "refused" as const, "late refusal" as const),
  isChecked: fc.boolean(),
  waitMs: fc.constantFrom(0, 1_000),
});
const holds = (takeBack: TakeBack) =>
  fc.property(fc.array(step, { maxLength: 12 }), (steps) => run(steps, takeBack) === undefined);

it("R3, R6: a refused request changes nothing, and nothing that was given is taken back", () => {
  fc.assert(holds(decideTakeBack), { numRuns: 5_000 });
});

const mutants: readonly (readonly [string, TakeBack])[] = [
  [
    "takes back a successor that another request has got",
    (row, operationId) => row && decideTakeBack({ ...row, snapshot: { ...row.snapshot, replays: 0 } }, operationId),
  ],
  [
    "takes back the successor of another operation",
    (row) => row && decideTakeBack(row, row.snapshot.successor.operationId),
  ],
];

it.each(mutants)("mutant: %s", (_, takeBack) => {
  expect(fc.check(holds(takeBack), { numRuns: 5_000, seed: 1, endOnFailure: true }).failed).toBe(true);
});

it("without taking back, a later retry looks like theft", () => {
  const refusedThenLate: Step[] = [
    { request: 0, outcome: "refused", isChecked: false, waitMs: 0 },
    { request: 0, outcome: "granted", isChecked: true, waitMs: graceMs + 1 },
  ];
  expect(run(refusedThenLate, decideTakeBack)).toBeUndefined();
  expect(run(refusedThenLate, () => undefined)).toBe("invalid_grant to version 0");
});
