import { isNumber, isText, objectOf } from "@edge-op/protocol/encoding/stored-json";
import { limits } from "../config/limits.ts";
import { isShardAddress, type ShardAddress } from "../storage/shard-address.ts";
import type { GrantIdentity } from "./grant-identity.ts";
import { grantKey, type RevokeRequest } from "./revocation-shard-rpc.ts";

/**
 * **The revocation of a grant after theft** (a reused refresh token, a replayed code) **or at its end** (its session ended, its
 * consent was withdrawn). The object that detects it sends the revocation to the shard by alarm until the shard acknowledges; a
 * Worker that must not respond before sends it too. Both send the same operation, so there is one row and one event.
 *
 * The row lives as long as a token of the grant (ADR 16): the refresh family is ended first, so that it issues no other, and refuses its
 * refresh tokens from then on.
 */
export interface GrantRevocation {
  readonly grant: Pick<GrantIdentity, "grantId" | "address">;
  readonly clientId: string;
  readonly reason:
    | "refresh_token_reused"
    | "code_replayed"
    | "device_code_replayed"
    | "session_ended"
    | "client_logout"
    | "administrator"
    | "consent_withdrawn";
  /** The expiry of the last token of the grant, refresh tokens included. */
  readonly untilMs: number;
  /** The family of a grant that may have one. If the family ended before, the row lives until `untilMs`. */
  readonly family?: GrantFamily | undefined;
}

/** The shard on which the refresh family of a grant is created, and the expiry of the tokens that are issued for its code itself. */
export interface GrantFamily {
  readonly address: ShardAddress;
  readonly tokensEndAtMs: number;
}

export const isGrantFamily = objectOf<GrantFamily>({ address: isShardAddress, tokensEndAtMs: isNumber });

export const isGrantRevocation = objectOf<GrantRevocation>({
  grant: objectOf<GrantRevocation["grant"]>({ grantId: isText, address: isShardAddress }),
  clientId: isText,
  reason: isText,
  untilMs: isNumber,
});

/** Until when a row is needed: a request that arrived before its last token expired may be decided later. Shards and replicas allow for clocks. */
export function rowUntilMs(expiresAtMs: number): number {
  return expiresAtMs + limits.decisionMs;
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
