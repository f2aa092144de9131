import { longestTokenLifetimeSeconds, type Settings } from "../config/settings.ts";
import type { RequestContext } from "../http/request-context.ts";
import { newGrantId } from "../leases/grant-id.ts";
import type { GrantIdentity } from "../leases/grant-identity.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import type { ShardMap } from "../storage/shard-map.ts";

/** A refresh family may start this much later than its grant, because the authorization code is redeemed in between. */
const redemptionMs = 120_000;

/** The authentication of the user of a grant. */
export interface GrantAuthentication {
  /** The control version that was confirmed before the authentication. */
  readonly version: number;
}

/**
 * Call only within a decision (control/settle.ts): the version at which it began is not newer than any record that it reads, and not older than the
 * arrival of the request. Without `authentication`, the decision itself is the user's authentication, or there is no user.
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

/** When every token of a grant has expired: the expiry of a row that revokes the grant. */
export function grantEndsAtMs(settings: Settings, grantCreatedAtMs: number): number {
  const lifetimeSeconds = settings.refreshTokenLifetimeSeconds + longestTokenLifetimeSeconds;
  return grantCreatedAtMs + lifetimeSeconds * 1000 + redemptionMs;
}
