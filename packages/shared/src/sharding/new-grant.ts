import type { StorageBindings } from "../cache/read-through.ts";
import { longestTokenLifetimeSeconds, type Settings } from "../config/settings.ts";
import type { RequestContext } from "../http/request-context.ts";
import { newGrantId } from "./grant-id.ts";
import type { ShardAddress } from "./shard-address.ts";
import type { ShardMap } from "./shard-map.ts";

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

/** A refresh family may start this much later than its grant: the authorization code lies between. */
const redemptionMs = 120_000;

/** The authentication of the user of a grant. */
export interface GrantAuthentication {
  /** The control version that was confirmed before it. */
  readonly version: number;
}

/**
 * Only within a decision (revocation/settle.ts): the version at which it began is not newer than any record that it reads, and not
 * older than the arrival of the request. Without `authentication`, the decision itself is the user's authentication, or there is no user.
 */
export async function newGrant(
  context: RequestContext<StorageBindings>,
  isolate: { readonly shardMap: ShardMap },
  authentication?: GrantAuthentication,
): Promise<GrantIdentity> {
  const client = context.progress.reads?.beganAt;
  if (client === undefined) throw new Error("a grant was created outside of a decision");
  const grantId = newGrantId({ client, user: authentication?.version ?? client });
  const address = await isolate.shardMap.place(context, "revocation", grantId);
  return { grantId, address, grantCreatedAtMs: context.arrivedAtMs };
}

/** When no token of a grant can be alive: the expiry of a row that revokes all of it. */
export function grantEndsAtMs(settings: Settings, grantCreatedAtMs: number): number {
  const lifetimeSeconds = settings.refreshTokenLifetimeSeconds + longestTokenLifetimeSeconds;
  return grantCreatedAtMs + lifetimeSeconds * 1000 + redemptionMs;
}
