import { type SpendRequest, spentMemoryMs } from "@edge-op/shared/codes/authorization-code-rpc";
import fc from "fast-check";
import { expect, it } from "vitest";
import { decideSpend, isTakenBack, type SpentCode } from "../src/codes/redemption-machine.ts";

/** **Redemptions of one code**, each checked before, at the same time, or refused; what a refused one undoes may arrive later, or never. */
interface Machine {
  readonly spend: typeof decideSpend;
  readonly takeBack: typeof isTakenBack;
  /** When a row is deleted, after its `untilMs`. */
  readonly keptMs: number;
}

const machine: Machine = { spend: decideSpend, takeBack: isTakenBack, keptMs: 0 };
const expiresAtMs = 60_000;

interface Step {
  readonly outcome: "granted" | "refused" | "late refusal" | "lost refusal";
  /** Whether the request was checked before its use. */
  readonly isChecked: boolean;
  /** Whether the same call is sent again after its result was lost. */
  readonly isRepeated: boolean;
  readonly waitMs: number;
}

const grant = { grantId: "grant", address: { generation: 1, region: "wnam", shard: 0 } };
const revocation = { grant, clientId: "app", reason: "code_replayed", untilMs: 0 } as const;

/** Returns what went wrong. */
function run(steps: readonly Step[], { spend, takeBack, keptMs }: Machine): string | undefined {
  let row: SpentCode | undefined;
  let atMs = 0;
  let given = 0;
  let isRevoked = false;
  /** The refused request that has spent the code and has not undone it yet, or never does. */
  let left: string | undefined;
  const late: string[] = [];
  const undo = (operationId: string) => {
    if (takeBack(row, operationId)) row = undefined;
    if (left === operationId) left = undefined;
  };
  for (const [index, { outcome, isChecked, isRepeated, waitMs }] of steps.entries()) {
    atMs += waitMs;
    if (row !== undefined && row.untilMs + keptMs <= atMs) row = undefined;
    const operationId = `operation ${index}`;
    const use = (isUnchecked: boolean) => {
      const sent: SpendRequest = {
        ...{ id: "code", expiresAtMs, refusal: undefined, revocation, operationId, isUnchecked, origin: {} },
        redeemed: { grant: { ...grant, grantCreatedAtMs: 0 }, clientId: "app", sub: "alice", scope: [] },
      };
      const { result, next } = spend(row, sent, atMs);
      row = next ?? row;
      return result.kind;
    };
    const send = (isUnchecked: boolean) => {
      const first = use(isUnchecked);
      return isRepeated ? use(isUnchecked) : first;
    };
    const isGranted = outcome === "granted";
    let kind = send(!isGranted || !isChecked);
    if (isGranted && kind === "unchecked_request") kind = send(false);
    if (!isGranted) {
      if (kind === "replayed") return "a request that was refused has ended the grant";
      if (kind === "spent") left = operationId;
      if (outcome === "refused") undo(operationId);
      if (outcome === "late refusal") late.push(operationId);
    } else if (kind === "spent") {
      if (atMs >= expiresAtMs) return "an expired code was redeemed";
      given += 1;
      if (given > 1 && !isRevoked) return "a code was redeemed twice";
    } else if (kind === "replayed") {
      if (given === 0 && left === undefined) return "a first redemption was taken for a replay";
      isRevoked = true;
    } else if (kind !== "invalid_grant") return `${kind} after the check`;
    else if (atMs < expiresAtMs) return "a code was refused before its end";
    else if (given > 0 && atMs < spentMemoryMs) return "a replay was not found";
    if (index % 3 === 2) for (const operation of late.splice(0)) undo(operation);
  }
  return undefined;
}

const step: fc.Arbitrary<Step> = fc.record({
  outcome: fc.constantFrom("granted" as const, "refused" as const, "late refusal" as const, "lost refusal" as const),
  isChecked: fc.boolean(),
  isRepeated: fc.boolean(),
  waitMs: fc.constantFrom(0, 0, 1_000, 59_000, 3_600_000, 90_000_000),
});
const holds = (of: Machine) =>
  fc.property(fc.array(step, { maxLength: 10 }), (steps) => {
    const fault = run(steps, of);
    if (fault !== undefined) throw new Error(fault);
  });

it("R4, R6: a code is redeemed once, a refused request neither spends it nor ends its grant, and a replay is found for a day", () => {
  fc.assert(holds(machine), { numRuns: 20_000 });
});

const mutants: Readonly<Record<string, Machine>> = {
  "a row that ends before its code": { ...machine, keptMs: -(spentMemoryMs - 30_000) },
  "a row that ends with its code": { ...machine, keptMs: -(spentMemoryMs - expiresAtMs) },
  "the code of another request is given back": { ...machine, takeBack: (row) => row !== undefined },
  "a code is never given back": { ...machine, takeBack: () => false },
  "a replay is judged before the check of its request": {
    ...machine,
    spend: (row, request, nowMs) => decideSpend(row, { ...request, isUnchecked: false }, nowMs),
  },
  "a request that is being checked does not spend the code": {
    ...machine,
    spend: (row, request, nowMs) => {
      const { result, next } = decideSpend(row, request, nowMs);
      return next === undefined || request.isUnchecked ? { result } : { result, next };
    },
  },
  "a lost response is a replay": {
    ...machine,
    spend: (row, request, nowMs) => decideSpend(row && { ...row, spentBy: "another" }, request, nowMs),
  },
  "the expiry is not checked": {
    ...machine,
    spend: (row, request, nowMs) => decideSpend(row, { ...request, expiresAtMs: nowMs + 1 }, nowMs),
  },
};

it.each(Object.entries(mutants))("mutant: %s", (_, mutant) => {
  expect(fc.check(holds(mutant), { numRuns: 20_000, seed: 1, endOnFailure: true }).failed).toBe(true);
});
