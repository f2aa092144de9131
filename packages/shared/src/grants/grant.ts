/**
 * **The id of a grant, and the control versions that the grant rests on**: 128 random bits, then in base 36 a version at which its client was current
 * and, after a hyphen, the version that was confirmed before its user's credentials were verified. Without a hyphen both are the same. Cut-offs are
 * decided by them (ADR 28). Every token of a grant contains its id, so its format decides for all.
 */

import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { isFlag, isNumber, isText, listOf, objectOf } from "@edge-op/protocol/encoding/stored-json";
import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import { longestRefreshTokenLifetimeSeconds, longestTokenLifetimeSeconds, type Settings } from "../config/settings.ts";
import { membershipId } from "../cut-offs/cut-offs.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import type { RecordVersions } from "../storage/record-kinds.ts";
import { isShardAddress, type ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";

export interface GrantVersions {
  readonly client: number;
  readonly user: number;
}

const grantIdPattern = /^[A-Za-z0-9_-]{22}([0-9a-z]{1,11})(?:-([0-9a-z]{1,11}))?$/;

export function newGrantId({ client, user }: GrantVersions): string {
  const id = randomBase64Url(16) + formatVersion(client);
  return user === client ? id : `${id}-${formatVersion(user)}`;
}

/** An id of another form has no versions: any cut-off revokes it. */
export function readGrantVersions(grantId: string): GrantVersions {
  const match = grantIdPattern.exec(grantId);
  if (match === null) return { client: 0, user: 0 };
  const client = parseVersion(match[1]!);
  return { client, user: match[2] === undefined ? client : parseVersion(match[2]) };
}

/** Formats a control version for the ids of grants and sessions. */
export function formatVersion(version: number): string {
  return version.toString(36);
}

/** Returns 0, which is not a version, for another text. */
export function parseVersion(text: string): number {
  return /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : 0;
}

/**
 * **The identity of a grant**: all of its tokens, refreshed and exchanged ones included, are revoked on one shard (docs/reference/protocols.md §1).
 * The id contains the control versions by which cut-offs decide about the grant.
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

/** **The content of an authorization**: an authorization code contains it, and the row of a device code, until they are redeemed. */
export interface AuthorizedGrant extends LoginContext {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  readonly scope: readonly string[];
  readonly resources: readonly string[];
  /** Whether redemption starts a refresh family (OIDC Core §11); decided with the authorization. */
  readonly refreshable: boolean;
  /** When every token of the grant has expired, as fixed by the authorization: no refresh token lives longer, whatever is set later. */
  readonly grantEndsAtMs: number;
  /** The shard in which the family will start: known in advance, so that the family can be ended before it starts. */
  readonly familyAddress: ShardAddress;
  /** The longest lifetime of the tokens that redemption issues, so that their end is known in advance. */
  readonly tokenLifetimeSeconds: number;
}

export const authorizedGrantMembers = {
  sub: isText,
  grant: isGrantIdentity,
  clientId: isText,
  scope: listOf(isText),
  resources: listOf(isText),
  refreshable: isFlag,
  grantEndsAtMs: isNumber,
  familyAddress: isShardAddress,
  tokenLifetimeSeconds: isNumber,
};

/** A refresh family may start this much later than its grant, because the authorization code is redeemed in between. */
const redemptionMs = 120_000;

/** The authentication of the user of a grant. */
interface Grantee {
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

/**
 * A read of the cut-offs of the membership of a grant and of its organisation, which change with their records: the grant rests on a version that
 * contains what its membership was read with, or is decided again. To be called within the decision, when its person is known.
 */
export function noteMembership(
  { progress: { reads } }: RequestContext<StorageBindings>,
  { grantId }: Pick<GrantIdentity, "grantId">,
  { orgId, sub }: { readonly orgId: string | undefined; readonly sub: string },
): void {
  if (orgId === undefined) return;
  const { client: version } = readGrantVersions(grantId);
  reads?.note("organization", orgId, version);
  reads?.note("membership", membershipId(orgId, sub), version);
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
