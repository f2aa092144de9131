import type { FactsRpc } from "../secrets/deployment-facts.ts";
import type { NamedChange } from "../storage/record-kinds.ts";
import type { LeaseResponse, RevocationStatistics } from "./revocation-shard-rpc.ts";

export interface RelayLeaseRequest {
  /** Names one replica, as at a shard. */
  readonly holder: string;
  /** The run of the relay that `version` belongs to; `undefined` requests a snapshot. */
  readonly instance: string | undefined;
  /** The last version that the isolate has installed and decides by: a change up to this version need not wait for this holder. */
  readonly version: number;
  /** The control version that the isolate has acted on; −1 for none. */
  readonly sinceCv: number;
  /** The deployment's L. */
  readonly leaseMs: number;
  /** The relay may hold the request until a change, or until the lease is to be renewed. */
  readonly hold: boolean;
}

/** The content of a shard: a snapshot, or the changes after it. */
export type ShardContent = Extract<LeaseResponse, { kind: "lease" }>;

export interface RelayedShard {
  /** The name of the shard's object. */
  readonly name: string;
  /** To be installed in this order. Empty: nothing has changed since the version of the request. */
  readonly content: readonly ShardContent[];
  /** Whether the lease of this response covers the shard. Otherwise, the isolate calls the shard. */
  readonly isCovered: boolean;
}

export interface RelayLeaseResponse {
  readonly instance: string;
  readonly version: number;
  /** Shards that are not covered and have no new content are left out. */
  readonly shards: readonly RelayedShard[];
  /** Counted as at a shard. 0: no shard is covered. */
  readonly leaseMs: number;
  readonly heldMs: number;
  /** The newest control version that a shard has sent; −1 for none. */
  readonly cv: number;
  /** The same as in a response of a shard. */
  readonly changes: readonly NamedChange[] | undefined;
  /**
   * Set when too many snapshots are being sent: the response gives no lease and contains nothing, and `version` is that of the request. It is the
   * earliest time to request a lease again.
   */
  readonly againMs?: number;
}

/** The counters of a relay since its present run began. Only operators use them. */
export interface RelayStatistics extends RevocationStatistics {
  /** Shards that the relay has a lease on. */
  readonly coveredShards: number;
  readonly liveShards: number;
}

/**
 * **The RPC interface of a `RevocationRelay`**: it holds leases on all revocation shards and gives leases on all of them to isolates (ADR 22). It
 * has no storage: `instance` names one run of it, and its versions have a meaning only within that run.
 */
export interface RevocationRelayRpc extends FactsRpc {
  lease(request: RelayLeaseRequest): Promise<RelayLeaseResponse>;
  /** The holder no longer decides by its lease, so no change waits for it. */
  release(holder: string): Promise<void>;
  statistics(): Promise<RelayStatistics>;
}
