import { cutOffKey, cutOffKind, type RecordedCutOff } from "../cut-offs/cut-offs.ts";
import { type GrantIdentity, type GrantVersions, readGrantVersions } from "../grants/grant.ts";
import { grantKey, tokenKey } from "../grants/grant-revocation.ts";
import type { ShardAddress } from "../storage/shard-address.ts";

/** **The members of a verified token that decide whether it is revoked.** All rows are on the grant's shard. */
export interface RevocationSubject {
  readonly address: ShardAddress;
  readonly jti: string;
  readonly grantId: string;
  readonly sub: string;
  readonly clientId: string;
  /** The `jti` values of the tokens it was exchanged from, at most {@link limits.actorDepth}. */
  readonly lineage: readonly string[];
  /** The versions of a session. The id of a grant contains its versions. */
  readonly versions?: GrantVersions;
}

/**
 * The subject of a grant itself, for codes and refresh tokens, which have no `jti`: the grant's row and the cut-offs of its user and
 * client revoke it.
 */
export function grantSubject(
  { grantId, address }: Pick<GrantIdentity, "grantId" | "address">,
  { sub, clientId }: Pick<RevocationSubject, "sub" | "clientId">,
): RevocationSubject {
  return { address, jti: grantId, grantId, sub, clientId, lineage: [] };
}

/** The subject of a session: no row names it, and it belongs to no client. It rests on one version, which its id contains. */
export function sessionSubject(
  { sid, address }: { readonly sid: string; readonly address: ShardAddress },
  { sub, issuer, version }: { readonly sub: string; readonly issuer: string; readonly version: number },
): RevocationSubject {
  return {
    ...grantSubject({ grantId: sid, address }, { sub, clientId: issuer }),
    versions: { client: version, user: version },
  };
}

/** A deployment is one tenant; its cut-off revokes every token issued before. */
export const defaultTenant = "default";

/** Each of these rows revokes the token. */
export function rowKeys(subject: RevocationSubject): string[] {
  return [tokenKey(subject.jti), ...subject.lineage.map(tokenKey), grantKey(subject.grantId)];
}

/** The cut-offs that {@link isCutOff} evaluates. */
export function cutOffKeys(subject: RevocationSubject): string[] {
  return [cutOffKey("sub", subject.sub), cutOffKey("client", subject.clientId), cutOffKey("tenant", defaultTenant)];
}

/**
 * Compares the grant, not the token: refreshing or exchanging does not evade a cut-off. The version of the grant decides, regardless of clocks (ADR
 * 28).
 */
export function isCutOff(subject: RevocationSubject, { key, version }: RecordedCutOff): boolean {
  return versionFor(key, subject.versions ?? readGrantVersions(subject.grantId)) < version;
}

/**
 * The records of the user and the client of a refresh token or session contain their cut-offs for longer than the shards do (ADR 28);
 * an access token lives no longer than a row of the shard.
 */
export function isCutOffByRecords(
  subject: RevocationSubject,
  records: readonly ({ readonly cutOffs: readonly RecordedCutOff[] } | undefined)[],
): boolean {
  return records.some((record) => record?.cutOffs.some((cutOff) => isCutOff(subject, cutOff)));
}

function versionFor(key: string, { client, user }: GrantVersions): number {
  const kind = cutOffKind(key);
  if (kind !== "tenant") return kind === "sub" ? user : client;
  return Math.min(client, user);
}
