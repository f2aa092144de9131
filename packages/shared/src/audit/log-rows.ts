import type { AuditGap, AuditMessage } from "./audit-event.ts";

/** The end of the one chain, or the point behind which retention has deleted it. */
export interface ChainHead {
  readonly position: number;
  /** Hex-encoded hash. */
  readonly chain: string;
}

/** An event as it is stored, with its place in the one chain. */
export interface StoredEvent extends Omit<AuditMessage, "floor"> {
  readonly position: number;
  readonly chain: string;
}

/** The columns of a {@link StoredEvent}; `e` is the table. */
export const eventColumns = `e.position, e.shard, e.seq, e.at_ms AS atMs, e.type, e.payload, lower(hex(e.previous)) AS previous,
  lower(hex(e.hash)) AS hash, lower(hex(e.chain)) AS chain`;

/** The shard under which `audit_anchors` has the one chain. */
export const chainAnchor = "";

/** The last stored event, else the anchor of a chain whose events were all deleted; no row for an empty log. */
export const selectHead = `SELECT position, lower(hex(chain)) AS chain FROM (
  SELECT position, chain FROM audit_events
  UNION ALL SELECT seq, hash FROM audit_anchors WHERE shard = '') ORDER BY position DESC LIMIT 1`;

export interface RecordedGap extends AuditGap {
  readonly shard: string;
}
