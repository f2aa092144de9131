import type { GrantIdentity } from "../sharding/new-grant.ts";
import { grantKey, type RevokeRequest } from "./token-revocation-store.ts";

/**
 * **The revocation of a grant after theft** (a reused refresh token, a replayed code) **or at its end** (its session ended, its
 * consent was withdrawn). The object that detects it sends the revocation to the shard by alarm until the shard acknowledges; a
 * Worker that must not respond before sends it too. Both send the same operation, so there is one row and one event.
 */
export interface GrantRevocation {
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  readonly clientId: string;
  readonly reason: "refresh_token_reused" | "code_replayed" | "session_ended" | "consent_withdrawn";
  /** When no token of the grant can be alive. */
  readonly untilMs: number;
}

export function grantRevocationRequest({ grant, clientId, reason, untilMs }: GrantRevocation): RevokeRequest {
  const { grantId } = grant;
  return {
    key: grantKey(grantId),
    untilMs,
    operationId: `${reason} ${grantId}`,
    event: { type: "grant.revoked", payload: { grant_id: grantId, client_id: clientId, reason } },
  };
}
