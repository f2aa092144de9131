import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import type { EventRow } from "./list-events.ts";

/** Payload members that have members of their own in the resource; a client has two spellings. */
const named = {
  sub: "sub",
  clientId: "client_id",
  client_id: "client_id",
  actor: "actor",
  actorClientId: "actor_client_id",
  address: "address",
  requestId: "request_id",
} as const;

export type ShownEvent = Pick<EventRow, "position" | "type" | "shard" | "seq" | "hash"> &
  Partial<Record<(typeof named)[keyof typeof named], string>> & {
    /** RFC 3339. */
    readonly time: string;
    readonly detail: Readonly<Record<string, unknown>>;
  };

/** **An audit event as it is shown**: actor, client, time and origin have members of their own; everything else is in `detail`. */
export function showEvent({ position, atMs, type, payload, shard, seq, hash }: EventRow): ShownEvent {
  const members: Partial<Record<(typeof named)[keyof typeof named], string>> = {};
  const detail: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(readStored("audit event", payload, isJsonObject))) {
    const place = Object.hasOwn(named, name) ? named[name as keyof typeof named] : undefined;
    if (place !== undefined && typeof value === "string") members[place] = value;
    else detail[name] = value;
  }
  return { position, time: new Date(atMs).toISOString(), type, ...members, detail, shard, seq, hash };
}

/** The event for the person that it is about. An administrator who acted on their account is another person: neither who they are nor where from is shown. */
export function showEventTo(sub: string, row: EventRow): ShownEvent {
  const event = showEvent(row);
  if (event.actor === undefined || event.actor === sub) return event;
  const { actor: _, actor_client_id: __, address: ___, request_id: ____, ...shown } = event;
  return shown;
}
