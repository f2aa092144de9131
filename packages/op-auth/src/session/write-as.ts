import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import {
  type CommittedChange,
  type ControlChange,
  type ControlPlaneBindings,
  commitControlChange,
} from "@edge-op/shared/control/commit-control-change";
import type { CutOffIntent } from "@edge-op/shared/control/control-plane-rpc";
import { isCutOffSince } from "@edge-op/shared/cut-offs/cut-offs";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/**
 * **W: every write about a person is conditional, in its own transaction, on what allowed it.** A request reads a session, hashes a password and
 * calls other services before it writes; meanwhile its session may end, or the row that it replaces may change. Such a write fails as a whole ({@link
 * WriteRefused}). `test/topology/person-writes.test.ts` lists every write with its condition.
 */
export interface Guard {
  readonly statement: D1PreparedStatement;
}

/** What a person's write rests on: their session, or proofs that have not opened one. */
export interface Basis {
  readonly sub: string;
  /** The oldest control version that one of the proofs rests on (ADR 28). */
  readonly version: number;
  /** The session, if it is one. */
  readonly sid?: string | undefined;
}

/** What proofs amount to rests on the oldest version that one of them does: a change after it voids them all. */
export function oldestVersion(proofs: readonly Pick<Proof, "controlVersion">[]): number {
  return Math.min(...proofs.map(({ controlVersion }) => controlVersion));
}

/**
 * `ended`: what the write rests on has ended. `changed`: the row that it replaces is not the one that was read. No client is told: the person signs
 * in again, or sees the account as it is.
 */
export class WriteRefused extends Error {
  readonly kind: "ended" | "changed";

  constructor(kind: "ended" | "changed") {
    super(failing[kind]);
    this.kind = kind;
  }
}

/** SQLite names a malformed path in the error, which tells the guards apart. */
const failing = { ended: "write refused: ended", changed: "write refused: changed" } as const;

function guard(database: D1Database, kind: WriteRefused["kind"], condition: string, values: readonly unknown[]): Guard {
  const select = `SELECT json_extract('{}', iif(${condition}, '$', '${failing[kind]}'))`;
  return {
    statement: peopleOf(database)
      .prepare(select)
      .bind(...values),
  };
}

/** The write fails if a change has cut the person off since, if the session has been ended, and if there is no such person. */
export function whileInForce(database: D1Database, { sub, version, sid }: Basis): Guard {
  const isListed = "EXISTS (SELECT 1 FROM user_sessions WHERE sid = ?3 AND sub = ?1)";
  const condition = `EXISTS (SELECT 1 FROM users WHERE sub = ?1) AND NOT ${isCutOffSince} AND (?3 IS NULL OR ${isListed})`;
  return guard(database, "ended", condition, [sub, version, sid ?? null]);
}

/** The write fails unless the condition, an expression in SQL, holds. */
export function whileUnchanged(database: D1Database, condition: string, ...values: readonly unknown[]): Guard {
  return guard(database, "changed", condition, values);
}

type Guards = readonly [Guard, ...Guard[]];

/**
 * **Commits statements about a person while what they rest on is in force.** Returns whether the first has changed a row: an event after it is
 * recorded `ifChanged`. Cost: 1 D1 call.
 */
export async function writeAs(
  { env: { DB } }: RequestContext<{ readonly DB: D1Database }>,
  basis: Basis,
  statements: readonly D1PreparedStatement[],
): Promise<boolean> {
  const guarded = [whileInForce(DB, basis).statement, ...statements];
  const [, first] = await refusing(() => queryDatabase(() => peopleOf(DB).batch(guarded)));
  return first?.meta.changes === 1;
}

interface PersonChange {
  readonly changes: readonly ControlChange[];
  readonly cutOff?: Omit<CutOffIntent, "changedAtMs">;
  readonly ready?: Promise<unknown>;
}

/** **The same for a change of a record that isolates have copies of**: one control change. Cost: that of commit-control-change.ts. */
export async function changeAs(
  context: RequestContext<ControlPlaneBindings>,
  guards: Guards,
  statements: readonly D1PreparedStatement[],
  { changes, cutOff, ready }: PersonChange,
): Promise<CommittedChange> {
  const guarded = [...guards.map(({ statement }) => statement), ...statements];
  const committed = await refusing(() => commitControlChange(context, guarded, changes, cutOff, ready));
  return { ...committed, results: committed.results.slice(guards.length) };
}

async function refusing<T>(commit: () => Promise<T>): Promise<T> {
  try {
    return await commit();
  } catch (error) {
    const cause = error instanceof UnavailableError ? String(error.cause) : "";
    if (cause.includes(failing.ended)) throw new WriteRefused("ended");
    if (cause.includes(failing.changed)) throw new WriteRefused("changed");
    throw error;
  }
}
