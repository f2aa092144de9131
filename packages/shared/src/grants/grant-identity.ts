import { isNumber, isText, objectOf } from "@edge-op/protocol/encoding/stored-json";
import { isShardAddress, type ShardAddress } from "../storage/shard-address.ts";

/**
 * **The identity of a grant**: all of its tokens, refreshed and exchanged ones included, are revoked on one shard (docs/reference/protocols.md §1). The
 * id contains the control versions by which cut-offs decide about the grant (grant-id.ts).
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
