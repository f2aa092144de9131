import type { StorageBindings } from "../cache/read-through.ts";
import { longestTokenLifetimeSeconds, type Settings } from "../config/settings.ts";
import type { RequestContext } from "../http/request-context.ts";
import { randomBase64Url } from "../runtime/bytes.ts";
import type { ShardAddress } from "./shard-address.ts";
import type { ShardMap } from "./shard-map.ts";

/**
 * **Creates a grant**: its id contains the revocation shard on which all of its tokens are revoked, refreshed and exchanged ones
 * included (docs/reference/protocols.md §1).
 */
export interface GrantIdentity {
  readonly grantId: string;
  /** Its revocation shard. */
  readonly address: ShardAddress;
  readonly grantCreatedAtMs: number;
}

/** A refresh family may start this much later than its grant: the authorization code lies between. */
const redemptionMs = 120_000;

export async function newGrant(
  context: RequestContext<StorageBindings>,
  isolate: { readonly shardMap: ShardMap },
): Promise<GrantIdentity> {
  const grantId = randomBase64Url(16);
  const address = await isolate.shardMap.place(context, "revocation", grantId);
  return { grantId, address, grantCreatedAtMs: context.arrivedAtMs };
}

/** When no token of a grant can be alive: the expiry of a row that revokes all of it. */
export function grantEndsAtMs(settings: Settings, grantCreatedAtMs: number): number {
  const lifetimeSeconds = settings.refreshTokenLifetimeSeconds + longestTokenLifetimeSeconds;
  return grantCreatedAtMs + lifetimeSeconds * 1000 + redemptionMs;
}
