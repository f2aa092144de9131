import { randomBase64Url } from "../runtime/bytes.ts";

/**
 * **The id of a grant, and the control versions that the grant rests on**: 128 random bits, then in base 36 the version at which its
 * client was read and, after a hyphen, the version that was confirmed before its user's credentials were verified. Without a hyphen
 * both are the same. Ids of earlier releases end after the random part, and a session of an earlier release has no version (an empty
 * second number); their cut-offs are decided by time (ADR 28). Every token of a grant contains its id, so its format decides for all.
 */
export interface GrantVersions {
  readonly client: number | undefined;
  readonly user: number | undefined;
}

const grantIdPattern = /^[A-Za-z0-9_-]{22}([0-9a-z]{1,11})(?:-([0-9a-z]{0,11}))?$/;

export function newGrantId({ client, user }: { readonly client: number; readonly user: number | undefined }): string {
  const id = randomBase64Url(16) + formatVersion(client);
  return user === client ? id : `${id}-${user === undefined ? "" : formatVersion(user)}`;
}

export function readGrantVersions(grantId: string): GrantVersions {
  const match = grantIdPattern.exec(grantId);
  if (match === null) return { client: undefined, user: undefined };
  const client = parseVersion(match[1]!);
  return { client, user: match[2] === undefined ? client : parseVersion(match[2]) };
}

/** A control version in the ids of grants and sessions. */
export function formatVersion(version: number): string {
  return version.toString(36);
}

/** `undefined` for an empty text. */
export function parseVersion(text: string): number | undefined {
  return /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : undefined;
}
