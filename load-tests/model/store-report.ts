import type { Machine } from "../lib/circumstances.ts";
import { codeWork, refreshWork, signInWork } from "./sign-in.ts";

export interface PacedResult {
  readonly operations: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Shards {
  readonly refresh: number;
  /** Shards of sessions, of codes and of challenges each. */
  readonly session: number;
}

export interface StoreMeasurement extends PacedResult {
  readonly shards: Shards;
  readonly operation: "sign-in" | "code" | "refresh";
  readonly rate: number;
  /** CPU of one operation in the endpoint Workers, and in the objects with D1 and KV. */
  readonly workersCpuMs: number;
  readonly objectsCpuMs: number;
  /** D1 queries that the requests of one operation waited for. */
  readonly d1Queries: number;
  /** Object calls and rows of one operation, by method and by class. */
  readonly calls: Readonly<Record<string, number>>;
  readonly rowsWritten: Readonly<Record<string, number>>;
}

/** **The report of the cost of sign-ins, codes and refreshes**, compared with the figures that the model scales up. */
export interface StoreReport {
  readonly measuredAt: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly measurements: readonly StoreMeasurement[];
}

export const storeClasses = {
  session: "SessionStore",
  challenge: "ChallengeStore",
  code: "AuthorizationCodeStore",
  refresh: "RefreshTokenRotator",
} as const;

export function callsOf({ calls }: StoreMeasurement, className: string): number {
  const ofClass = Object.entries(calls).filter(
    ([name]) => name.startsWith(`${className}.`) && !name.endsWith(".alarm"),
  );
  return ofClass.reduce((sum, [, count]) => sum + count, 0);
}

export const workOf = { "sign-in": signInWork, code: codeWork, refresh: refreshWork } as const;

interface Compared {
  readonly modelled: number;
  readonly measured: number;
}

/** The work of one operation, by the model and as measured. Excludes the leases of revocation shards, which other tables show. */
export function comparedWork(
  measured: StoreMeasurement,
): Readonly<Record<"calls" | "rowsWritten" | "d1Queries", Compared>> {
  const work = workOf[measured.operation];
  const stores = Object.keys(storeClasses) as (keyof typeof storeClasses)[];
  const modelled: Readonly<Record<string, number>> = work.calls;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    calls: {
      modelled: sum(stores.map((store) => modelled[store] ?? 0)),
      measured: sum(stores.map((store) => callsOf(measured, storeClasses[store]))),
    },
    rowsWritten: { modelled: work.rowsWritten, measured: rowsOf(measured) },
    d1Queries: { modelled: work.d1Queries, measured: measured.d1Queries },
  };
}

export function rowsOf({ rowsWritten }: StoreMeasurement): number {
  return Object.entries(rowsWritten)
    .filter(([name]) => name !== "TokenRevocationStore")
    .reduce((sum, [, rows]) => sum + rows, 0);
}
