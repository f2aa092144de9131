import type { ControlKind } from "../cache/control-view.ts";
import type { FactsRpc } from "./facts-object.ts";

/**
 * **The RPC interface of a `TokenRevocationStore` shard.** Times are epoch milliseconds.
 *
 * Row keys: `j:<jti>` (a token and the tokens exchanged from it), `g:<grantId>`. Cut-off keys: `nb:sub:<sub>`,
 * `nb:client:<client_id>`, `nb:tenant:<tenant>`; they contain a not-before that is compared with the creation time of the grant.
 * `ask:<client_id>` marks a client with more rows than are replicated: its tokens are checked by exact calls (ADR 20).
 */
export interface RevokedRow {
  readonly key: string;
  /** When every token that the row revokes has expired: the row is deleted then. */
  readonly untilMs: number;
}

export interface CutOff {
  readonly key: string;
  /** Grants created at or before this are revoked. Combined by max. */
  readonly notBeforeMs: number;
  readonly untilMs: number;
}

/** A request for a lease, or for the renewal of one. */
export interface LeaseRequest {
  /** Names one replica. An isolate that discards its replica, or has released its lease, continues under a new id. */
  readonly holder: string;
  /** The last change that the replica contains; −1 requests a snapshot. */
  readonly sinceSeq: number;
  /** The last change that the replica contains and decides by: a change up to here need not wait for this holder. */
  readonly confirmedSeq: number;
  /** The control version that the isolate has acted on; −1 for none. */
  readonly sinceCv: number;
  /** The deployment's L; the shard caps it. */
  readonly leaseMs: number;
  /** The shard may hold the request until a change, or for `holdMs`. */
  readonly hold: boolean;
  /** Half of the lease by default. */
  readonly holdMs?: number;
}

/** An administrative change: a row of D1's `control_changes`. It names a record, and never contains a secret. */
export interface NamedChange {
  readonly version: number;
  readonly kind: ControlKind;
  readonly id: string;
}

/** Everything since `sinceSeq`, or everything; `checkOnly` when the live set is larger than a replica may hold. */
export type LeaseResponse =
  | {
      readonly kind: "lease";
      /** True when `rows` and `cutOffs` are the whole set and replace what the isolate holds. */
      readonly snapshot: boolean;
      readonly seq: number;
      readonly rows: readonly RevokedRow[];
      readonly cutOffs: readonly CutOff[];
      /** Counted from the moment BEFORE the isolate sent the call, adjusted by `grantedFromMs` for `heldMs`. */
      readonly leaseMs: number;
      /** How long the shard held the request, by its own clock. */
      readonly heldMs: number;
      readonly cv: number;
      /** Every change after `sinceCv` up to `cv`; `undefined` if the shard does not know them all. */
      readonly changes: readonly NamedChange[] | undefined;
    }
  | { readonly kind: "checkOnly"; readonly cv: number; readonly changes: readonly NamedChange[] | undefined };

export interface CheckResponse {
  /** The requested row keys that are revoked. */
  readonly revoked: readonly string[];
  /** The requested cut-offs that exist. */
  readonly cutOffs: readonly CutOff[];
  readonly cv: number;
  /** As in {@link LeaseResponse}. */
  readonly changes: readonly NamedChange[] | undefined;
}

export interface RevokeRequest {
  readonly key: string;
  readonly untilMs: number;
  /** The client that a token's or a grant's row belongs to: how many rows it has replicated is bounded. */
  readonly clientId?: string;
  /** The same operation may be sent again after a lost response: one row, one event. */
  readonly operationId: string;
  readonly event: { readonly type: string; readonly payload: Readonly<Record<string, unknown>> };
}

/** What a shard has done with leases since its present instance started. For operators alone: nothing is decided by it. */
export interface RevocationStatistics {
  readonly sinceMs: number;
  /** Holders of a lease that has not ended. */
  readonly holders: number;
  /** Acknowledgements that wait now. */
  readonly waiting: number;
  readonly leasesGranted: number;
  readonly renewalsHeld: number;
  /** Requests by which a holder confirmed something new. */
  readonly confirmations: number;
  readonly releases: number;
  /** Acknowledgements that had to wait, and are over. One that waited for leases and for the boot fence counts in both. */
  readonly waits: {
    readonly count: number;
    readonly longestMs: number;
    readonly endedByConfirmation: number;
    readonly endedByLeaseEnd: number;
    readonly bootFences: number;
  };
}

export interface RevocationShard extends FactsRpc {
  lease(request: LeaseRequest): Promise<LeaseResponse>;
  /** The holder, and everyone that it grants leases, decides by the changes up to `seq`. For a holder whose renewal is held. */
  confirm(holder: string, seq: number): Promise<void>;
  /** The holder no longer decides by its lease: no change waits for it. */
  release(holder: string): Promise<void>;
  check(rowKeys: readonly string[], cutOffKeys: readonly string[], sinceCv: number): Promise<CheckResponse>;
  /**
   * Resolves when the row is durable and, unless `bounded`, when every holder has confirmed it or has no lease any more (I1, I5).
   */
  revoke(requests: readonly RevokeRequest[], wait: boolean): Promise<{ readonly cv: number }>;
  /** Raises cut-offs (by max) and the control version (by max); resolves like `revoke`. Idempotent. */
  raise(
    change: { readonly cutOffs?: readonly CutOff[]; readonly cv?: number; readonly changes?: readonly NamedChange[] },
    wait: boolean,
  ): Promise<{ readonly cv: number }>;
  statistics(): Promise<RevocationStatistics>;
}

/** Row key of one token. */
export function tokenKey(jti: string): string {
  return `j:${jti}`;
}

/** Row key of a grant and all that descends from it. */
export function grantKey(grantId: string): string {
  return `g:${grantId}`;
}

const markPrefix = "ask:";

/** Row key of a mark: tokens in which this client has a part are checked by exact calls. */
export function markKey(clientId: string): string {
  return `${markPrefix}${clientId}`;
}

/** The client that a row marks; `undefined` for any other row. */
export function markedClient(key: string): string | undefined {
  return key.startsWith(markPrefix) ? key.slice(markPrefix.length) : undefined;
}

export type CutOffKind = "sub" | "client" | "tenant";

export function cutOffKey(kind: CutOffKind, id: string): string {
  return `nb:${kind}:${id}`;
}
