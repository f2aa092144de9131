import { isNumber, isText, objectOf } from "@edge-op/protocol/encoding/stored-json";
import { isShardAddress, type ShardAddress } from "../storage/shard-address.ts";

/**
 * **Creates a grant**: its id names the revocation shard on which all of its tokens are revoked, refreshed and exchanged ones
 * included (docs/reference/protocols.md §1), and the control versions by which cut-offs decide about it (grant-id.ts).
 */
export interface GrantIdentity {
  readonly grantId: string;
  /** Its revocation shard. */
  readonly address: ShardAddress;
  readonly grantCreatedAtMs: number;
}

export const isGrantIdentity = objectOf<GrantIdentity>({
  grantId: isText,
  address: isShardAddress,
  grantCreatedAtMs: isNumber,
});
