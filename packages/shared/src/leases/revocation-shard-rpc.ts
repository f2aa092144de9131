import type { ControlNews } from "../control/control-plane-rpc.ts";
import type { ReadCondition } from "../control/read-set.ts";
import type { CutOff } from "../cut-offs/cut-offs.ts";
import type { RevokedRow, RevokeRequest } from "../grants/grant-revocation.ts";
import type { FactsRpc } from "../secrets/deployment-facts.ts";
import type { NamedChange } from "../storage/record-kinds.ts";

/** `sinceCv` of an isolate that has acted on no control version. It receives every known change and judges copies in KV by them. */
export const noVersion = -2;

/** A request for a lease, or for the renewal of one. */
export interface LeaseRequest {
  /** Names one replica. An isolate that discards its replica, or has released its lease, continues under a new id. */
  readonly holder: string;
  /** The last change that the replica contains; −1 requests a snapshot. */
  readonly sinceSeq: number;
  /** The last change that the replica contains and decides by: a change up to this number need not wait for this holder. */
  readonly confirmedSeq: number;
  /** `seq` of the installed filter, −1 without one. */
  readonly filterSeq: number;
  /** The control version that the isolate has acted on; {@link noVersion} for none. */
  readonly sinceCv: number;
  /** The deployment's L; the shard caps it. */
  readonly leaseMs: number;
  /** The shard may hold the request until a change, or for `holdMs`. */
  readonly hold: boolean;
  /** Half of the lease by default. */
  readonly holdMs?: number;
  /** The holder serves isolates: its snapshots come first (ADR 22). */
  readonly isRelay?: true;
}

/**
 * The form in which large sets of rows are replicated: at most 1.3 MB for a million rows. It can be stored and forwarded. A key that it contains may
 * be revoked, which an exact check decides; a key that neither it nor a row after `seq` names is not.
 */
export interface RevocationFilter {
  /** The filter contains every live row whose last change has this number or a lower one, and perhaps later and expired ones. */
  readonly seq: number;
  /** When the last of its rows expires. */
  readonly untilMs: number;
  /** A `RowFilter` (leases/row-filter.ts). */
  readonly bytes: Uint8Array;
}

/**
 * The changes since `sinceSeq`, or the whole set. `checkOnly` if the shard cannot give a lease: its filter is not built yet, or too many snapshots
 * are being sent.
 */
export type LeaseResponse =
  | {
      readonly kind: "lease";
      /** True when `filter`, `rows` and `cutOffs` are the whole set and replace what the isolate holds. */
      readonly snapshot: boolean;
      readonly seq: number;
      /** Only in a snapshot: contains all rows up to its own `seq`; `rows` are those after it. */
      readonly filter?: RevocationFilter;
      readonly rows: readonly RevokedRow[];
      readonly cutOffs: readonly CutOff[];
      /** Counted from the moment BEFORE the isolate sent the call, adjusted by `givenFromMs` for `heldMs`. */
      readonly leaseMs: number;
      /** How long the shard held the request, by its own clock. */
      readonly heldMs: number;
      readonly cv: number;
      /** Every change after `sinceCv` up to `cv`, or for `noVersion` the newest; `undefined` if the shard does not know them. */
      readonly changes: readonly NamedChange[] | undefined;
    }
  | {
      readonly kind: "checkOnly";
      readonly cv: number;
      readonly changes: readonly NamedChange[] | undefined;
      /** The earliest time to request a lease again. */
      readonly againMs: number;
    };

export interface CheckResponse {
  /** The requested row keys that are revoked. */
  readonly revoked: readonly string[];
  /** The requested cut-offs that exist. */
  readonly cutOffs: readonly CutOff[];
  /** The last change that the shard knew. */
  readonly seq: number;
  readonly cv: number;
  /** The same as in {@link LeaseResponse}. */
  readonly changes: readonly NamedChange[] | undefined;
}

export interface RevokeResponse {
  /** Nothing was revoked: a change after the condition's version names one of its reads, or the shard cannot tell. */
  readonly isOutdated?: true;
  /** `undefined` while the shard does not vouch for a control version. */
  readonly cv?: number | undefined;
  readonly changes?: readonly NamedChange[] | undefined;
}

/** Counters of a shard's leases since its present instance started. Only operators use them. */
export interface RevocationStatistics {
  readonly sinceMs: number;
  /** Holders of a lease that has not ended. */
  readonly holders: number;
  /** Acknowledgements that are waiting now. */
  readonly waiting: number;
  readonly leasesGranted: number;
  readonly renewalsHeld: number;
  /** Requests by which a holder confirmed something new. */
  readonly confirmations: number;
  readonly releases: number;
  /** Acknowledgements that had to wait and have completed. One that waited for leases and for the boot fence counts in both. */
  readonly waits: {
    readonly count: number;
    readonly longestMs: number;
    readonly endedByConfirmation: number;
    readonly endedByLeaseEnd: number;
    readonly bootFences: number;
  };
}

/**
 * **The RPC interface of a `TokenRevocationStore` shard.** Times are epoch milliseconds.
 *
 * Row keys: `j:<jti>` (a token and the tokens exchanged from it), `g:<grantId>`. Cut-off keys: `nb:sub:<sub>`, `nb:client:<client_id>`,
 * `nb:tenant:<tenant>`.
 */
export interface RevocationShard extends FactsRpc {
  lease(request: LeaseRequest): Promise<LeaseResponse>;
  /** Confirms that the holder, and everyone to whom it gives leases, decides by the changes up to `seq`. For a holder whose renewal is held. */
  confirm(holder: string, seq: number): Promise<void>;
  /** The holder no longer decides by its lease, so no change waits for it. */
  release(holder: string): Promise<void>;
  check(rowKeys: readonly string[], cutOffKeys: readonly string[], sinceCv: number): Promise<CheckResponse>;
  /**
   * Resolves when the row is durable and, unless `bounded`, when every holder has confirmed it or its lease has ended (I1, I5). With `sinceCv`, as in
   * a check, it returns the control version if the shard vouches for it. With a `condition`, it revokes only at a control version for which it
   * vouches and at which the reads are current.
   */
  revoke(
    requests: readonly RevokeRequest[],
    wait: boolean,
    sinceCv?: number,
    condition?: ReadCondition,
  ): Promise<RevokeResponse>;
  /**
   * Sends the shard the part of the control log after the version `after`. A shard that does not contain that version reads the log itself. Resolves
   * like `revoke`: no holder decides by an older control version. Idempotent.
   */
  raise(change: Partial<ControlNews> & { readonly after?: number }, wait: boolean): Promise<{ readonly cv: number }>;
  statistics(): Promise<RevocationStatistics>;
}
