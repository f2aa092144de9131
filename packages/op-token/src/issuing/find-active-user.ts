import { OAuthError, type OAuthErrorCode } from "@edge-op/protocol/oauth/errors";
import type { GrantIdentity } from "@edge-op/shared/grants/grant";
import { findHookClaims } from "@edge-op/shared/hooks/find-hook-claims";
import type { FormReader } from "@edge-op/shared/http/read-form";
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
 * mapped to claims. Unknown, suspended and leaving users are refused alike; the log tells them apart. For a grant of an organisation the claims are
 * those of the membership, and who is no active member is refused (ADR 72); so is a grant without one at a client whose policy requires one.
 * Cost warm: 0 calls; 1 RPC with the hook `claims`.
 */
export async function findActiveUser(
  { context, isolate, client }: ClientRequest,
  sub: string,
  orgId: string | undefined,
  refusal: OAuthErrorCode = "invalid_grant",
): Promise<ActiveUser> {
  if (orgId === undefined && client.metadata.organization === "required") {
    throw new OAuthError(refusal, "organization-required");
  }
  const [found, rbac] = await Promise.all([
    isolate.users.find(context, sub),
    orgId === undefined
      ? isolate.users.findRbacClaims(context, sub)
      : findMemberClaims({ context, isolate }, { sub, orgId }, refusal),
  ]);
  const user = requireActive(found, refusal);
  const [ofHook, mapped] = await Promise.all([
    findHookClaims(context, { endpoint: "token", user, rbac: () => rbac, client }),
    isolate.users.findMappedValues(context, user),
  ]);
  return { username: user.username, rbac, attributes: [...ofHook, ...mapped] };
}

/** What the membership gives: no group, and nothing of the deployment. */
async function findMemberClaims(
  { context, isolate }: Pick<ClientRequest, "context" | "isolate">,
  { sub, orgId }: { readonly sub: string; readonly orgId: string },
  refusal: OAuthErrorCode,
): Promise<RbacClaims> {
  const membership = await isolate.users.findMembership(context, orgId, sub);
  if (membership?.status !== "active") throw new OAuthError(refusal, "organization-not-member");
  const { roles, permissions } = membership;
  return { roles, groups: [], permissions };
}

export function requireActive(user: User | undefined, refusal: OAuthErrorCode): User {
  if (user === undefined) throw new OAuthError(refusal, "user-unknown");
  if (user.status === "leaving") throw new OAuthError(refusal, "user-leaving");
  if (user.status !== "active") throw new OAuthError(refusal, "user-suspended");
  return user;
}

/** O1: a token has the organisation of its grant. Another one is a new authorization request. */
export function refuseOtherOrganization(form: FormReader<"organization">, orgId: string | undefined): void {
  const asked = form.get("organization");
  if (asked === undefined || asked === orgId) return;
  throw new OAuthError("invalid_request", "organization-parameter", {
    description: "The organization is fixed by the authorization request.",
  });
}

/**
 * **Refuses a code or refresh token of a revoked grant**, or of a user or client that was cut off. Records contain cut-offs for longer than shards
 * (ADR 28). Cost warm: 0 calls (`direct`: 1).
 */
export async function refuseRevokedGrant(
  { context, isolate, client }: ClientRequest,
  {
    grant,
    sub,
    orgId,
  }: {
    readonly grant: Pick<GrantIdentity, "grantId" | "address">;
    readonly sub: string;
    readonly orgId?: string | undefined;
  },
): Promise<void> {
  const subject = grantSubject(grant, { sub, clientId: client.clientId, orgId });
  // The check of the user shares these reads.
  const [user, membership, isRevoked] = await Promise.all([
    isolate.users.find(context, sub),
    orgId === undefined ? undefined : isolate.users.findMembership(context, orgId, sub),
    isolate.revocation.isRevoked(context, [subject]),
  ]);
  if (isCutOffByRecords(subject, [client, user, membership])) {
    throw new OAuthError("invalid_grant", "grant-cut-off");
  }
  if (isRevoked) throw new OAuthError("invalid_grant", "grant-revoked");
}
