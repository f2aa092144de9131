import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { controlLeaseLifeMs, leaseTiming } from "@edge-op/shared/config/lease-timing";
import type { ControlNews } from "@edge-op/shared/control/control-plane-rpc";
import type { CutOff } from "@edge-op/shared/cut-offs/cut-offs";
import { cutOffUntilMs, replicatedUntilMs } from "@edge-op/shared/cut-offs/cut-offs";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { NamedChange } from "@edge-op/shared/storage/record-kinds";
import { rememberedChanges } from "../leases/recent-changes.ts";

/** A larger number of cut-offs is read only from the control plane. */
const mostCutOffs = 2_000;

/** The part of the control log that a shard contains. */
export interface Contained {
  readonly cv: number;
  readonly cvAtMs: number | undefined;
}

interface State {
  readonly announced: number;
  /** The time of the change that the shard contains; `null` if D1 does not have it. */
  readonly containedAtMs: number | null;
}

/**
 * **Registers a shard in D1, in the transaction that reads the announced changes**: for a shard to which the control plane does not respond. If an
 * announcement does not see the registration, the transaction has read that announcement (docs/reference/protocols.md §2). Returns the changes that
 * the shard lacks.
 *
 * A number that the control plane has not announced is not read, because a restored D1 may give it to another change (ADR 11). Unavailable if D1 does
 * not have the change that the shard contains, because it was restored. Cost: 1 D1 write.
 */
export async function registerAtDatabase(
  database: D1Database,
  shard: string,
  { cv, cvAtMs }: Contained,
  nowMs: number,
): Promise<ControlNews> {
  const announced = "(SELECT version FROM announced_version)";
  // An access token from before an older cut-off has expired, by any clock.
  const recentUntilMs = cutOffUntilMs(nowMs - replicatedUntilMs(0) - leaseTiming.clockOffsetMs);
  const batch = [
    database
      .prepare(
        `INSERT INTO control_registrations VALUES (?1, ?2, ?3)
           ON CONFLICT DO UPDATE SET version = excluded.version, ends_at_ms = excluded.ends_at_ms`,
      )
      .bind(shard, cv, Math.ceil(nowMs + controlLeaseLifeMs)),
    database
      .prepare(
        `SELECT version AS announced, (SELECT at_ms FROM control_changes WHERE version = ?1) AS containedAtMs FROM announced_version`,
      )
      .bind(cv),
    database
      .prepare(
        `SELECT version, kind, id, at_ms AS atMs FROM control_changes WHERE version > ?1 AND version <= ${announced}
           ORDER BY version DESC LIMIT ?2`,
      )
      .bind(cv, rememberedChanges),
    // A change that is committed and not announced may have replaced an announced one: it counts up to the announced version.
    database
      .prepare(
        `SELECT key, min(version, ${announced}) AS version, until_ms AS untilMs FROM cut_offs
           WHERE version > ?1 AND until_ms > ?2 LIMIT ?3`,
      )
      .bind(cv, recentUntilMs, mostCutOffs + 1),
  ];
  const [, state, changes, cutOffs] = await queryDatabase(() => database.batch(batch));
  return newsOf(
    { cv, cvAtMs },
    state!.results[0] as State | undefined,
    changes!.results as ChangeRow[],
    cutOffs!.results as CutOff[],
    nowMs,
  );
}

interface ChangeRow extends NamedChange {
  readonly atMs: number;
}

function newsOf(
  { cv, cvAtMs }: Contained,
  state: State | undefined,
  rows: readonly ChangeRow[],
  cutOffs: readonly CutOff[],
  nowMs: number,
): ControlNews {
  const announced = state?.announced ?? 0;
  const isContinued = cv === 0 || (cvAtMs !== undefined && state?.containedAtMs === cvAtMs);
  if (!isContinued) throw new UnavailableError("D1", new Error(`D1 does not continue control version ${cv}`));
  if (cutOffs.length > mostCutOffs) throw new UnavailableError("D1", new Error("too many cut-offs to read at once"));
  const newest = rows[0];
  if (announced > cv && newest?.version !== announced)
    throw new UnavailableError("D1", new Error(`D1 does not have change ${announced}`));
  const replicatedMs = replicatedUntilMs(nowMs);
  return {
    cv: Math.max(cv, announced),
    cvAtMs: newest?.atMs ?? cvAtMs,
    changes: rows.map(({ version, kind, id }) => ({ version, kind, id })).reverse(),
    cutOffs: cutOffs.map((cutOff) => ({ ...cutOff, untilMs: Math.min(cutOff.untilMs, replicatedMs) })),
  };
}
