import { longestRefreshTokenLifetimeSeconds, longestTokenLifetimeSeconds, type Settings } from "../config/settings.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import type { RecordVersions } from "../storage/record-kinds.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import { newGrantId } from "./grant-id.ts";
import type { GrantIdentity } from "./grant-identity.ts";

/** A refresh family may start this much later than its grant, because the authorization code is redeemed in between. */
const redemptionMs = 120_000;

/** The authentication of the user of a grant. */
export interface Grantee {
  readonly clientId: string;
  readonly sub?: string;
  /** The control version that was confirmed before the user signed in; absent if the decision itself is the authentication, or without a user. */
  readonly signInVersion?: number | undefined;
}

/**
 * Creates a grant, within a decision that is committed afterwards (control/settle.ts). It rests on the control version that the isolate knows, or
 * before there is one on that of the client's record, for a user who signed in earlier (ADR 28): this is a read of the cut-offs of its client and
 * user, which change with their records.
 */
export async function newGrant(
  context: RequestContext<StorageBindings>,
  { control, shardMap }: { readonly control: Pick<RecordVersions, "version">; readonly shardMap: ShardMap },
  { clientId, sub, signInVersion }: Grantee,
): Promise<GrantIdentity> {
  const { reads } = context.progress;
  const isOfCopy = control.version === undefined && (sub === undefined || signInVersion !== undefined);
  const version = isOfCopy ? reads?.stampOf("client", clientId) : control.version;
  if (version === undefined || reads === undefined) throw new Error("a grant was created outside of a decision");
  reads.note("client", clientId, version);
  if (sub !== undefined) reads.note("user", sub, version);
  const grantId = newGrantId({ client: version, user: signInVersion ?? version });
  const address = await shardMap.place(context, "revocation", grantId);
  return { grantId, address, grantCreatedAtMs: context.arrivedAtMs };
}

/** When every token of a grant has expired: the expiry of a row that revokes the grant. */
export function grantEndsAtMs(
  { refreshTokenLifetimeSeconds }: Pick<Settings, "refreshTokenLifetimeSeconds">,
  grantCreatedAtMs: number,
): number {
  return grantCreatedAtMs + (refreshTokenLifetimeSeconds + longestTokenLifetimeSeconds) * 1000 + redemptionMs;
}

/** The same for a grant of which only the id is known. The settings may have allowed longer refresh tokens when it began. */
export function latestGrantEndMs(nowMs: number): number {
  return grantEndsAtMs({ refreshTokenLifetimeSeconds: longestRefreshTokenLifetimeSeconds }, nowMs);
}
