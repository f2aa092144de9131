import { isNumber, isText, objectOf } from "@edge-op/protocol/encoding/stored-json";
import type { AuditLogRpc } from "../audit/audit-log-rpc.ts";
import { longestControlWaitMs } from "../config/lease-timing.ts";
import { limits } from "../config/limits.ts";
import type { CutOffKind, RecordedCutOff } from "../cut-offs/cut-offs.ts";
import type { RecordName } from "../http/request-context.ts";
import type { FactsRpc } from "../secrets/deployment-facts.ts";
import type { RegionShards } from "../storage/generation-table.ts";
import type { ControlKind, NamedChange } from "../storage/record-kinds.ts";
import type { ShardedStore } from "../storage/shard-address.ts";

/**
 * The user or client whose grants end with a change: suspension, disabling, deletion or a new password. Durable, so that the
 * cut-off is also made if the Worker dies after its commit; the object then checks D1 for the change.
 */
export interface CutOffIntent {
  readonly kind: Exclude<CutOffKind, "tenant">;
  readonly id: string;
  /** The administrator, for the audit. */
  readonly actor: string;
  /** The time of the change's own rows in D1's `control_changes`. */
  readonly changedAtMs: number;
}

export const isCutOffIntent = objectOf<CutOffIntent>({
  kind: isText,
  id: isText,
  actor: isText,
  changedAtMs: isNumber,
});

/** A committed change with a cut-off. D1 stores both in one transaction, the cut-off in the record of its user or client (ADR 28). */
export interface CommittedCutOff {
  /** The number of the change, which orders its cut-off. */
  readonly version: number;
  /** False if D1 listed no session as ending after the commit (ADR 16). */
  readonly listsSessions: boolean;
}

/** The control log after a version: what a shard installs before it vouches for `cv`. */
export interface ControlNews {
  readonly cv: number;
  /** The time of the change `cv`, which shows that D1's log was not restored to before that change; `undefined` if it is not known. */
  readonly cvAtMs: number | undefined;
  /** The newest changes, ending with `cv`; empty if they are not known. */
  readonly changes: readonly NamedChange[];
  /** All cut-offs after that version that may still affect a live access token. */
  readonly cutOffs: readonly (RecordedCutOff & { readonly untilMs: number })[];
}

/** The part of the control log that a shard lacks, and how long it may vouch for the log, counted from before its call. */
export interface ControlLease extends ControlNews {
  /** 0: there is more to read before a lease is granted. */
  readonly leaseMs: number;
}

/**
 * **The RPC interface of `ControlPlane`**, the one object that announces changes, and grants shards the leases under which they vouch for the
 * control version. A crash between a commit and its announcement is completed by alarm. The admin API calls it, and revocation shards that are
 * in use, in the background.
 */
export interface ControlPlaneRpc extends FactsRpc, AuditLogRpc {
  /** Stores a durable intent BEFORE the admin API commits to D1. */
  begin(operationId: string, cutOff?: CutOffIntent): Promise<void>;
  /** A shard requests or renews its lease. `since`: the control version that it contains. */
  follow(shard: string, since: number): Promise<ControlLease>;
  /**
   * After the commit: announces D1's newest control version, waits until no shard vouches for an older one, and deletes the intent. The announcement
   * carries the `changed` records, if they are small.
   */
  publish(
    operationId: string,
    cutOff?: CommittedCutOff,
    changed?: readonly RecordName<ControlKind>[],
  ): Promise<{ readonly cv: number }>;
  /**
   * Revokes every grant of a subject, client or tenant created up to now. Resolves when the cut-off is in force everywhere. It does not affect the
   * grant of a request that arrives afterwards. Idempotent by `operationId`.
   */
  cutOff(request: {
    readonly kind: CutOffKind;
    readonly id: string;
    readonly operationId: string;
    readonly actor: string;
  }): Promise<void>;
  /**
   * Seals up to `batches` × 200 rows of each table with the current master key. Returns the rows of each table that only the previous key opens;
   * empty without a previous key.
   */
  sealAgain(batches: number): Promise<Readonly<Record<string, number>>>;
  /** Begins a backup of D1. False if there is no bucket for it. */
  backUp(): Promise<boolean>;
  /** Opens a generation: adds the D1 row, then publishes. */
  openGeneration(request: {
    readonly store: ShardedStore;
    readonly regions: Readonly<Record<string, RegionShards>>;
    readonly operationId: string;
  }): Promise<{ readonly generation: number }>;
}

/** The maximum duration of one call of the control plane: it reads D1, waits for shards, and may have to finish the work of an earlier call. */
export const controlCallMs = 2 * (longestControlWaitMs + limits.objectCallMs);
