import { limits } from "../config/limits.ts";
import type { Settings } from "../config/settings.ts";
import type { RegionShards } from "../sharding/generation-table.ts";
import type { ShardedStore } from "../sharding/shard-address.ts";
import { leaseTiming, longestWaitMs } from "./lease-timing.ts";
import type { CutOffKind } from "./token-revocation-store.ts";

/**
 * Whose grants end with a change: suspended, disabled, deleted, or given another password. Also when the Worker dies right after its
 * commit: then the cut-off is made if D1 has the change.
 */
export interface CutOffIntent {
  readonly kind: "sub" | "client";
  readonly id: string;
  /** Who asked for it, for the audit. */
  readonly actor: string;
  /** Time of the change's own rows in D1's `control_changes`. Absent in an intent from before this was recorded. */
  readonly changedAtMs?: number;
}

/**
 * **What `ControlPlane` answers over RPC**: the one object through which a change becomes known on every live shard.
 * It holds what is still to be told, and tells it again by alarm until all have acknowledged, so a crash anywhere between a
 * commit and the last acknowledgement is finished later without anyone asking. Not on any request path but the admin API's.
 */
export interface ControlPlaneRpc extends Rpc.DurableObjectBranded {
  /** Durable intent BEFORE the admin API commits to D1. */
  begin(operationId: string, cutOff?: CutOffIntent): Promise<void>;
  /** After the commit: cuts off what the intent names, raises D1's newest control version on every live shard, waits for their leases, clears the intent. */
  publish(operationId: string): Promise<{ readonly cv: number }>;
  /**
   * Revokes every grant of a subject, client or tenant created up to now, on every live shard. Answers when it is in force
   * everywhere and a grant created after the answer is not touched. Idempotent by `operationId`.
   */
  cutOff(request: {
    readonly kind: CutOffKind;
    readonly id: string;
    readonly operationId: string;
    readonly actor: string;
  }): Promise<{
    readonly notBeforeMs: number;
  }>;
  /** Opens a generation: seeds it with live cut-offs and the control version, then adds the D1 row, then publishes (G4). */
  openGeneration(request: {
    readonly store: ShardedStore;
    readonly regions: Readonly<Record<string, RegionShards>>;
    readonly operationId: string;
  }): Promise<{ readonly generation: number }>;
}

export const controlPlaneName = "control";

/** One call of a shard that waits for its leases, or for those of its predecessor. */
export function raiseTimeoutMs(settings: Settings): number {
  return limits.objectCallMs + longestWaitMs(leaseTiming, settings.leaseMs);
}

/** One call of the control plane: it asks D1, tells every shard at once, and may find another call's work before its own. */
export function controlCallMs(settings: Settings): number {
  return 2 * (raiseTimeoutMs(settings) + limits.objectCallMs);
}
