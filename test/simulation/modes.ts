import { isolateMemory, limits } from "../../packages/shared/src/config/limits.ts";
import { idLifeMs } from "../../packages/shared/src/storage/generation-table.ts";
import type { Restore } from "./replace-method.ts";

/** The circumstances of one run. */
export interface Modes {
  /** Four rows in memory; the others in storage and in filters. */
  readonly filters: boolean;
  /** Snapshots are paced, at shards and relays. */
  readonly paced: boolean;
  /** Clocks change their rates within ±ρ. */
  readonly clocks: boolean;
  /** Clocks of objects are ahead and those of isolates behind, as far as the assumptions allow, rows expire, and decisions have little time. */
  readonly sweeps: boolean;
  /** An isolate has memory for a few rows, and discards replicas. */
  readonly tight: boolean;
}

/** Small enough for a few rows: about one snapshot in flight. */
const fewSnapshots = { bytesPerSecond: 3_000, bytesInFlight: 1_500, freeBytes: 100 };

/** Reduces the product's limits for large sets, so that a run reaches them. Returns a function that restores them. */
export function adoptLimits({ filters, paced, sweeps, tight }: Modes): () => void {
  const { leaseReplicaRows, leaseSnapshotRows, leaseSnapshots, decisionMs } = limits;
  if (filters) Object.assign(limits, { leaseReplicaRows: 4, leaseSnapshotRows: 1 });
  if (paced) Object.assign(limits, { leaseSnapshots: fewSnapshots });
  if (sweeps) Object.assign(limits, { decisionMs: 4_000 });
  const { revocationReplicas } = isolateMemory;
  if (tight) Object.assign(isolateMemory, { revocationReplicas: 400 });
  return () => {
    Object.assign(limits, { leaseReplicaRows, leaseSnapshotRows, leaseSnapshots, decisionMs });
    Object.assign(isolateMemory, { revocationReplicas });
  };
}

/** A generation of revocation shards is retired `afterMs` after its successor is opened, in place of a day. */
export function hastenRetirement(afterMs = 4_000): Restore {
  const lives: Record<string, number> = idLifeMs;
  const { revocation } = idLifeMs;
  lives["revocation"] = afterMs;
  return () => {
    lives["revocation"] = revocation;
  };
}
