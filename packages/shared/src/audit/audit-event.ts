import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { RequestContext } from "../http/request-context.ts";

/** The request that causes a change, for the audit. */
export interface EventOrigin {
  /** The sender's network. */
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  /** The client that the person signs in to. */
  readonly clientId?: string | undefined;
  /** The browser and system of a sign-in, and its estimated place. */
  readonly device?: string | undefined;
  readonly city?: string | undefined;
  readonly country?: string | undefined;
}

/** The origin of what a request does. */
export function originOf({ network, requestId }: RequestContext<unknown>, clientId?: string): EventOrigin {
  return { address: network, requestId, clientId };
}

/**
 * **An audit event**, sent from an object's outbox through the Queue to D1 (docs/reference/protocols.md §5). `seq` counts from 1
 * without gaps per shard. `hash` is SHA-256 over {@link chainText}, which includes the previous hash, so editing, removing or
 * inserting an event breaks every later link (A3). The payload is text, so that every reader hashes the same bytes.
 */
export interface AuditMessage {
  /** Object name of the outbox. */
  readonly shard: string;
  readonly seq: number;
  readonly atMs: number;
  readonly type: string;
  /** {@link canonicalJson} of the payload. */
  readonly payload: string;
  /** Hash of the previous event, hex; {@link chainStart} for the first. */
  readonly previous: string;
  readonly hash: string;
  /**
   * The outbox has deleted every event up to this `seq`, because D1 had stored them all. If D1 lacks some of them now, D1 was
   * restored to an earlier moment and they are lost. Not part of the hash.
   */
  readonly floor: number;
}

/**
 * **A message of the Queue**: an event, and the events of the same outbox that follow it. The previous release's consumer stores the first alone, and
 * the others are sent again, each in a message of its own.
 */
export interface QueuedEvents extends AuditMessage {
  readonly more?: readonly AuditMessage[];
}

export function eventsOfMessages(messages: readonly QueuedEvents[]): AuditMessage[] {
  return messages.flatMap(({ more = [], ...event }) => [event, ...more]);
}

/** The range of lost events, inclusive. */
export interface AuditGap {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** The previous hash of the first event of an outbox. */
export const chainStart = "0".repeat(64);

/** The text whose SHA-256 is an event's hash: all members of the event and the previous hash, in a canonical spelling. */
export function chainText(event: Omit<AuditMessage, "hash" | "floor">): string {
  const { previous, shard, seq, atMs, type, payload } = event;
  return JSON.stringify([previous, shard, seq, atMs, type, payload]);
}

/** JSON with the members of every object sorted by name, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isJsonObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  );
}

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
