import { OAuthError, type OAuthErrorCode } from "@edge-op/protocol/oauth/errors";
import type { GrantIdentity } from "@edge-op/shared/grants/grant";
import { findHookClaims } from "@edge-op/shared/hooks/find-hook-claims";
import { grantSubject, isCutOffByRecords } from "@edge-op/shared/leases/revocation-subject";
import type { MappedValue } from "@edge-op/shared/users/attributes";
import type { RbacClaims, User } from "@edge-op/shared/users/user";
import type { ClientRequest } from "../grant-module.ts";

export interface ActiveUser {
  readonly username: string;
  readonly rbac: RbacClaims;
  /** Claims about the user beside those of the profile: of a hook, and mapped attributes, which come last and count. */
  readonly attributes: readonly MappedValue[];
}

/**
 * **Finds the active user of a token**, with the RBAC claims of its access tokens (RFC 9068 §2.2.3.1) and the attributes that are
 * mapped to claims. Unknown, suspended and leaving users are refused alike; the log tells them apart.
 * Cost warm: 0 calls; 1 RPC with the hook `claims`.
 */
export async function findActiveUser(
  { context, isolate, client }: ClientRequest,
  sub: string,
  refusal: OAuthErrorCode = "invalid_grant",
): Promise<ActiveUser> {
  const [found, rbac] = await Promise.all([
    isolate.users.find(context, sub),
    isolate.users.findRbacClaims(context, sub),
  ]);
  const user = requireActive(found, refusal);
  const [ofHook, mapped] = await Promise.all([
    findHookClaims(context, { endpoint: "token", user, rbac: () => rbac, client }),
    isolate.users.findMappedValues(context, user),
  ]);
  return { username: user.username, rbac, attributes: [...ofHook, ...mapped] };
}

export function requireActive(user: User | undefined, refusal: OAuthErrorCode): User {
  if (user === undefined) throw new OAuthError(refusal, "user-unknown");
  if (user.status === "leaving") throw new OAuthError(refusal, "user-leaving");
  if (user.status !== "active") throw new OAuthError(refusal, "user-suspended");
  return user;
}

/**
 * **Refuses a code or refresh token of a revoked grant**, or of a user or client that was cut off. Records contain cut-offs for longer than shards
 * (ADR 28). Cost warm: 0 calls (`direct`: 1).
 */
export async function refuseRevokedGrant(
  { context, isolate, client }: ClientRequest,
  { grant, sub }: { readonly grant: Pick<GrantIdentity, "grantId" | "address">; readonly sub: string },
): Promise<void> {
  const subject = grantSubject(grant, { sub, clientId: client.clientId });
  // The check of the user shares this read.
  const [user, isRevoked] = await Promise.all([
    isolate.users.find(context, sub),
    isolate.revocation.isRevoked(context, [subject]),
  ]);
  if (isCutOffByRecords(subject, [client, user])) {
    throw new OAuthError("invalid_grant", "grant-cut-off");
  }
  if (isRevoked) throw new OAuthError("invalid_grant", "grant-revoked");
}
