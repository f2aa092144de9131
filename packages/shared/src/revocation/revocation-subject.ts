import { type CutOff, cutOffKey, grantKey, tokenKey } from "../objects/token-revocation-store.ts";
import type { GrantIdentity } from "../sharding/new-grant.ts";
import type { ShardAddress } from "../sharding/shard-address.ts";

/** **The members of a verified token that decide whether it is revoked.** All rows are on the grant's shard. */
export interface RevocationSubject {
  readonly address: ShardAddress;
  readonly jti: string;
  readonly grantId: string;
  readonly grantCreatedAtMs: number;
  readonly sub: string;
  readonly clientId: string;
  /** The `jti` values of the tokens it was exchanged from, at most {@link limits.actorDepth}. */
  readonly lineage: readonly string[];
}

/**
 * The subject of a grant itself, for codes, refresh tokens and sessions, which have no `jti`: the grant's row and the cut-offs of its
 * user and client revoke it.
 */
export function grantSubject(
  { grantId, address, grantCreatedAtMs }: GrantIdentity,
  { sub, clientId }: Pick<RevocationSubject, "sub" | "clientId">,
): RevocationSubject {
  return { address, jti: grantId, grantId, grantCreatedAtMs, sub, clientId, lineage: [] };
}

/** A deployment is one tenant; its cut-off revokes every token issued before. */
export const defaultTenant = "default";

/** Each of these rows revokes the token. */
export function rowKeys(subject: RevocationSubject): string[] {
  return [tokenKey(subject.jti), ...subject.lineage.map(tokenKey), grantKey(subject.grantId)];
}

/** Each of these cut-offs revokes the token if its grant is not newer. */
export function cutOffKeys(subject: RevocationSubject): string[] {
  return [cutOffKey("sub", subject.sub), cutOffKey("client", subject.clientId), cutOffKey("tenant", defaultTenant)];
}

/** Compares the grant's creation time, not the token's `iat`: refreshing or exchanging does not evade a cut-off. */
export function isCutOff(subject: RevocationSubject, cutOff: CutOff): boolean {
  return subject.grantCreatedAtMs <= cutOff.notBeforeMs;
}
