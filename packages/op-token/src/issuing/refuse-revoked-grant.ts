import { OAuthError } from "@edge-op/shared/oauth/errors";
import { grantSubject } from "@edge-op/shared/revocation/revocation-subject";
import type { GrantIdentity } from "@edge-op/shared/sharding/new-grant";
import type { GrantRequest } from "../grant.ts";

/** **Refuses a code or refresh token of a revoked grant**, or of a user or client that was cut off. Cost warm: 0 calls (`direct`: 1). */
export async function refuseRevokedGrant(
  { context, isolate, client: { clientId } }: GrantRequest,
  { grant, sub }: { readonly grant: GrantIdentity; readonly sub: string },
): Promise<void> {
  if (await isolate.revocation.isRevoked(context, [grantSubject(grant, { sub, clientId })])) {
    throw new OAuthError("invalid_grant", "the grant is revoked");
  }
}
