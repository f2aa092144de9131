/**
 * **The id of a grant, and the control versions that the grant rests on**: 128 random bits, then in base 36 a version at which its client was current
 * and, after a hyphen, the version that was confirmed before its user's credentials were verified. Without a hyphen both are the same. Cut-offs are
 * decided by them (ADR 28). Every token of a grant contains its id, so its format decides for all.
 */

import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";

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
