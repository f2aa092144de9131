import type { GrantIdentity } from "../sharding/new-grant.ts";
import { grantKey, type RevokeRequest } from "./revocation-shard.ts";

/**
 * **The end of a grant that was found out** (a reused refresh token, a replayed code). Who finds it out is an object; the
 * Worker it tells revokes before it answers, and the object's alarm does so too until a shard has acknowledged. Both send
 * the same operation, so there is one row and one event.
 */
export interface GrantRevocation {
  readonly grant: GrantIdentity;
  readonly clientId: string;
  readonly reason: "refresh_token_reused" | "code_replayed";
  /** When nothing that descends from the grant can be alive. */
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
