import type { AuditKeeperRpc } from "../audit/audit-keeper-rpc.ts";
import type { FactsRpc } from "../config/deployment-facts.ts";
import { leaseTiming, longestWaitMs } from "../config/lease-timing.ts";
import { limits } from "../config/limits.ts";
import type { Settings } from "../config/settings.ts";
import type { RegionShards } from "../storage/generation-table.ts";
import type { ShardedStore } from "../storage/shard-address.ts";
import type { CutOffKind } from "./cut-offs.ts";

/**
 * The user or client whose grants end with a change: suspension, disabling, deletion or a new password. Durable, so that the
 * cut-off is also made if the Worker dies after its commit; the object then checks D1 for the change.
 */
export interface CutOffIntent {
  readonly kind: "sub" | "client";
  readonly id: string;
  /** The administrator, for the audit. */
  readonly actor: string;
  /** The time of the change's own rows in D1's `control_changes`. */
  readonly changedAtMs: number;
}

/** A change with a cut-off, which is in D1 with it, in the record of its user or client (ADR 28). */
export interface CommittedCutOff {
  /** The number of the change, by which its cut-off is ordered. */
  readonly version: number;
  /** False if D1 listed no session as ending after the commit (ADR 16). */
  readonly listsSessions: boolean;
}

/**
 * **The RPC interface of `ControlPlane`**, the one object that brings a change to every live shard. It stores the changes that
 * shards have not acknowledged and sends them again by alarm, so a crash between a commit and the last acknowledgement is completed
 * without another request. Only the admin API calls it.
 */
export interface ControlPlaneRpc extends FactsRpc, AuditKeeperRpc {
  /** Stores a durable intent BEFORE the admin API commits to D1. */
  begin(operationId: string, cutOff?: CutOffIntent): Promise<void>;
  /**
   * After the commit: applies the cut-off of the intent, raises D1's newest control version on every live shard, waits for their
   * leases, and deletes the intent.
   */
  publish(operationId: string, cutOff?: CommittedCutOff): Promise<{ readonly cv: number }>;
  /**
   * Revokes every grant of a subject, client or tenant created up to now, on every live shard. Resolves when that is in force
   * everywhere; a grant of a request that arrives afterwards is not affected. Idempotent by `operationId`.
   */
  cutOff(request: {
    readonly kind: CutOffKind;
    readonly id: string;
    readonly operationId: string;
    readonly actor: string;
  }): Promise<void>;
  /** Opens a generation: seeds it with live cut-offs and the control version, then adds the D1 row, then publishes (G4). */
  openGeneration(request: {
    readonly store: ShardedStore;
    readonly regions: Readonly<Record<string, RegionShards>>;
    readonly operationId: string;
  }): Promise<{ readonly generation: number }>;
}

/** One call of a shard that waits for its leases, or for those of its predecessor. */
export function raiseTimeoutMs(settings: Settings): number {
  return limits.objectCallMs + longestWaitMs(leaseTiming, settings.leaseMs);
}

/**
 * The duration of one call of the control plane: it reads D1, calls every shard concurrently, and may have to finish the work of an
 * earlier call.
 */
export function controlCallMs(settings: Settings): number {
  return 2 * (raiseTimeoutMs(settings) + limits.objectCallMs);
}
