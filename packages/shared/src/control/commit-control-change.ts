import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import { cutOffKey, cutOffUntilMs, recordNewest } from "../cut-offs/cut-offs.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { callObject, objectStub } from "../storage/call-object.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import type { ControlKind } from "../storage/record-kinds.ts";
import { controlPlaneName } from "../storage/shard-address.ts";
import { type ControlPlaneRpc, type CutOffIntent, controlCallMs } from "./control-plane-rpc.ts";

export interface ControlPlaneBindings {
  readonly DB: D1Database;
  readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc>;
}

/** The record that caches must delete; `everyId` for every record of a kind. */
export interface ControlChange {
  readonly kind: ControlKind;
  readonly id: string;
}

export interface CommittedChange {
  /** Results of the statements, in order. */
  readonly results: readonly D1Result[];
  /** For `ControlView.observe`, if this request uses the record that it changed. */
  readonly cv: number;
  /** The number of the last of these changes. */
  readonly version: number;
}

/**
 * **Commits an administrative change and resolves when it is in force everywhere**: a durable intent, one D1 transaction, then an announcement that
 * ends when no shard vouches for an older control version. `statements` run after the rows of the change are inserted, so they may store its number.
 * 503 after the commit means that `ControlPlane` completes the change without another request. The transaction waits for `ready`. Cost: 2 object
 * calls and 1 D1 call, plus those of `ControlPlane`.
 */
export async function commitControlChange(
  context: RequestContext<ControlPlaneBindings>,
  statements: readonly D1PreparedStatement[],
  changes: readonly ControlChange[],
  cutOff?: Omit<CutOffIntent, "changedAtMs">,
  ready?: Promise<unknown>,
): Promise<CommittedChange> {
  const { DB } = context.env;
  const operationId = crypto.randomUUID();
  const stub = controlPlane(context);
  const begunAtMs = nowMs();
  const intent = cutOff && { ...cutOff, changedAtMs: begunAtMs };
  await Promise.all([callObject("control plane", () => stub.begin(operationId, intent)), ready]);
  // A commit long after its intent could come after the intent's last publication (`intentSettledMs` of op-state).
  if (nowMs() > begunAtMs + 2 * limits.objectCallMs) throw new UnavailableError("control plane", new Error("too late"));

  const announcements = changes.map(({ kind, id }) =>
    DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES (?1, ?2, ?3) RETURNING version").bind(
      kind,
      id,
      begunAtMs,
    ),
  );
  // After its change, in one transaction: a record that is read at the version of the change contains the cut-off.
  const records =
    cutOff === undefined
      ? []
      : [
          recordNewest(DB, { key: cutOffKey(cutOff.kind, cutOff.id), untilMs: cutOffUntilMs(nowMs()) }),
          peopleOf(DB).prepare("SELECT sid FROM ending_sessions LIMIT 1"),
        ];
  const results = await commit(DB, [...announcements, ...statements, ...records]);
  const version = lastVersion(results.slice(0, announcements.length));
  const committed = cutOff && { version, listsSessions: results.at(-1)!.results.length > 0 };
  const publish = async () => stub.publish(operationId, committed, changes);
  const { cv } = await callObject("control plane", publish, controlCallMs);
  // An earlier confirmation does not include the change.
  context.progress.controlConfirmed = false;
  const from = announcements.length;
  return { results: results.slice(from, from + statements.length), cv, version };
}

function lastVersion(results: readonly D1Result[]): number {
  const [row] = (results.at(-1)?.results ?? []) as { readonly version?: number }[];
  if (row?.version === undefined) throw new Error("the change log returned no version");
  return row.version;
}

/** The stub of the one control plane. */
export function controlPlane(context: RequestContext<ControlPlaneBindings>): DurableObjectStub<ControlPlaneRpc> {
  return objectStub(context.settings, context.env.CONTROL_PLANE, controlPlaneName);
}

/**
 * A violated UNIQUE constraint is a conflict of the caller; D1 identifies it only by its message. Any other error is a failure of
 * D1.
 */
async function commit(database: D1Database, statements: D1PreparedStatement[]): Promise<D1Result[]> {
  try {
    return await queryDatabase(() => database.batch(statements), limits.databaseCommitMs);
  } catch (error) {
    const cause = error instanceof UnavailableError ? error.cause : error;
    if (cause instanceof Error && cause.message.includes("UNIQUE constraint failed")) {
      throw new OAuthError("conflict", "unique-constraint", { detail: cause.message });
    }
    throw error;
  }
}
