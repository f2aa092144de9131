/** **Rows of the revocation shards**: each revokes a token or a grant, with everything that descends from it. */

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
