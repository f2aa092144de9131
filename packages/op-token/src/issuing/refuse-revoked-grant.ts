import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { GrantIdentity } from "@edge-op/shared/grants/grant";
import { grantSubject, isCutOffByRecords } from "@edge-op/shared/leases/revocation-subject";
import type { ClientRequest } from "../grant-module.ts";

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
