import type { GrantIdentity } from "../sharding/new-grant.ts";
import { grantKey, type RevokeRequest } from "./token-revocation-store.ts";

/**
 * **The end of a grant that was found out** (a reused refresh token, a replayed code) **or has run its course** (its session
 * ended, its consent was taken back). An object that knows of it has its alarm tell the shard until that acknowledges; a
 * Worker that must not answer before does so too. Both send the same operation, so there is one row and one event.
 */
export interface GrantRevocation {
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  readonly clientId: string;
  readonly reason: "refresh_token_reused" | "code_replayed" | "session_ended" | "consent_withdrawn";
  /** When nothing that descends from the grant can be alive. */
  readonly untilMs: number;
}

export function grantRevocationRequest({ grant, clientId, reason, untilMs }: GrantRevocation): RevokeRequest {
  const { grantId } = grant;
  return {
    key: grantKey(grantId),
    untilMs,
    clientId,
    operationId: `${reason} ${grantId}`,
    event: { type: "grant.revoked", payload: { grant_id: grantId, client_id: clientId, reason } },
  };
}
