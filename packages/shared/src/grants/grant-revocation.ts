/** **Rows of the revocation shards**: each revokes a token or a grant, with everything that descends from it. */

import { isNumber, isText, objectOf } from "@edge-op/protocol/encoding/stored-json";
import { leaseTiming } from "../config/lease-timing.ts";
import { limits } from "../config/limits.ts";
import { isShardAddress, objectName, type ShardAddress } from "../storage/shard-address.ts";
import type { GrantIdentity } from "./grant.ts";

export interface RevokedRow {
  readonly key: string;
  /** When every token that the row revokes has expired: the row is deleted then. */
  readonly untilMs: number;
}

export interface RevokeRequest {
  readonly key: string;
  readonly untilMs: number;
  /** The same operation may be sent again after a lost response: one row, one event. */
  readonly operationId: string;
  /** Absent if another shard records it: a grant may have more than one. */
  readonly event?: { readonly type: string; readonly payload: Readonly<Record<string, unknown>> } | undefined;
}

/** Row key of one token. */
export function tokenKey(jti: string): string {
  return `j:${jti}`;
}

/** Row key of a grant and everything that descends from it. */
export function grantKey(grantId: string): string {
  return `g:${grantId}`;
}

/**
 * **The revocation of a grant after theft** (a reused refresh token, a replayed code) **or at its end** (its session ended, its
 * consent was withdrawn). The object that detects it sends the revocation by alarm until it is acknowledged; a Worker that must not
 * respond before sends it too. Both send the same operation, so there is one row at each place, and one event.
 *
 * The refresh family is ended first, so that it issues no other token, and refuses its refresh tokens from then on. It knows the places of the
 * grant; a row there lives as long as a token of the grant (ADR 16).
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
  /** The family of a grant that may have one and is not known to have ended. */
  readonly family?: GrantFamily | undefined;
  /** All places of a grant whose family has ended. */
  readonly places?: readonly GrantPlace[] | undefined;
}

/** A revocation whose places are known: the family has ended. */
export type EndedGrant = GrantRevocation & { readonly places: readonly GrantPlace[] };

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

/**
 * A revocation shard that tokens of a grant name, and until when a row is needed there. A grant begins with one place, and gets another when a
 * refresh issues in a newer generation.
 */
export interface GrantPlace {
  readonly address: ShardAddress;
  readonly untilMs: number;
}

/** A place in a row: generation, region, shard, `untilMs`. */
export type PackedPlace = readonly [number, string, number, number];

export function isPackedPlace(value: unknown): value is PackedPlace {
  if (!Array.isArray(value)) return false;
  const [generation, region, shard, untilMs]: readonly unknown[] = value;
  return isNumber(generation) && isText(region) && isNumber(shard) && isNumber(untilMs);
}

export function packPlace({ address: { generation, region, shard }, untilMs }: GrantPlace): PackedPlace {
  return [generation, region, shard, untilMs];
}

export function unpackPlace([generation, region, shard, untilMs]: PackedPlace): GrantPlace {
  return { address: { generation, region, shard }, untilMs };
}

/** Until when a row is needed: a request that arrived before its last token expired may be decided later. Shards and replicas allow for clocks. */
export function rowUntilMs(expiresAtMs: number): number {
  return expiresAtMs + limits.decisionMs;
}

/** One place for each shard, in the order of the first mention. */
export function joinPlaces(places: readonly GrantPlace[]): readonly GrantPlace[] {
  const byShard = Map.groupBy(places, ({ address }) => objectName("revocation", address));
  return [...byShard.values()].map((same) => ({
    address: same[0]!.address,
    untilMs: Math.max(...same.map(({ untilMs }) => untilMs)),
  }));
}

/** The place whose last token expires last: the event of a revocation is recorded there, whatever the other places have forgotten. */
export function lastPlace(places: readonly GrantPlace[]): GrantPlace {
  return places.reduce((last, place) => (place.untilMs > last.untilMs ? place : last));
}

/** The places at which a token may be alive by any clock, and the last one. */
export function neededPlaces(places: readonly GrantPlace[], nowMs: number): readonly GrantPlace[] {
  const last = lastPlace(places);
  return places.filter((place) => place === last || place.untilMs + leaseTiming.clockOffsetMs > nowMs);
}

/** A request to one shard. */
export interface PlacedRequest {
  readonly address: ShardAddress;
  readonly request: RevokeRequest;
}

/** A row for each needed place; the operation is the same at all of them, and has one event. */
export function requestsAt(
  places: readonly GrantPlace[],
  { event, ...request }: Omit<RevokeRequest, "untilMs">,
  nowMs: number,
): readonly PlacedRequest[] {
  const last = lastPlace(places);
  return neededPlaces(places, nowMs).map((place) => ({
    address: place.address,
    request: { ...request, untilMs: place.untilMs, event: place === last ? event : undefined },
  }));
}

/** The requests that revoke a grant whose family has ended. */
export function grantRevocationRequests(
  { grant, clientId, reason, untilMs, places }: GrantRevocation,
  nowMs: number,
): readonly PlacedRequest[] {
  const { grantId, address } = grant;
  const request = {
    key: grantKey(grantId),
    operationId: `${reason} ${grantId}`,
    event: { type: "grant.revoked", payload: { grant_id: grantId, client_id: clientId, reason } },
  };
  return requestsAt(places ?? [{ address, untilMs }], request, nowMs);
}
