import { cutOffKey, cutOffKind, membershipId, type RecordedCutOff } from "../cut-offs/cut-offs.ts";
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
  /** The organisation of the grant. */
  readonly orgId?: string | undefined;
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
  { sub, clientId, orgId }: Pick<RevocationSubject, "sub" | "clientId" | "orgId">,
): RevocationSubject {
  return { address, jti: grantId, grantId, sub, clientId, lineage: [], ...(orgId === undefined ? {} : { orgId }) };
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
  const { sub, clientId, orgId } = subject;
  const keys = [cutOffKey("sub", sub), cutOffKey("client", clientId), cutOffKey("tenant", defaultTenant)];
  if (orgId !== undefined) keys.push(cutOffKey("member", membershipId(orgId, sub)), cutOffKey("org", orgId));
  return keys;
}

/**
 * Compares the grant, not the token: refreshing or exchanging does not evade a cut-off. The version of the grant decides, regardless of clocks (ADR
 * 28). A membership counts from the grant on, not from the sign-in: the session may be older than a membership that was given again (ADR 72).
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
  if (kind === "tenant") return Math.min(client, user);
  return kind === "sub" ? user : client;
}
