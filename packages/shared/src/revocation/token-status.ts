import type { ShardAddress } from "../sharding/shard-address.ts";

/** **What of a verified token revocation is decided by.** All rows live on the grant's shard. */
export interface RevocationSubject {
  readonly address: ShardAddress;
  readonly jti: string;
  readonly grantId: string;
  readonly grantCreatedAtMs: number;
  readonly sub: string;
  readonly clientId: string;
  /** Ids of the tokens it was exchanged from, whole jtis, at most {@link limits.actorDepth}. */
  readonly lineage: readonly string[];
}
