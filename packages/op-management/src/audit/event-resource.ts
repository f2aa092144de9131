import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import * as z from "zod";
import { invalidCursor } from "../admin/paging.ts";
import type { EventPlace, EventRow } from "./list-events.ts";

/** **An audit event in the admin API**: actor, action, client, time and origin; everything else is in `detail`. */
export const eventSchema = z
  .strictObject({
    position: z.int().describe("Position in the audit chain."),
    time: z.string().describe("When it happened (RFC 3339)."),
    type: z.string(),
    sub: z.string().optional().describe("The person that the event is about."),
    client_id: z.string().optional().describe("The client that the event is about."),
    actor: z.string().optional().describe("The subject that acted: an administrator, a person, or a client."),
    actor_client_id: z.string().optional().describe("The client of the token by which an administrator acted."),
    address: z.string().optional().describe("The network of the request's sender: /24 or /48."),
    request_id: z.string().optional().describe("The request; its line in the log has the same id."),
    detail: z.record(z.string(), z.unknown()).describe("Depends on the type."),
    shard: z.string().describe("The object that recorded it."),
    seq: z.int().describe("Its number within the shard."),
    hash: z.string().describe("SHA-256 of the event and the previous one in its shard, hex."),
  })
  .meta({
    id: "AuditEvent",
    examples: [
      {
        ...{ position: 1842, time: "2026-11-18T11:06:40.000Z", type: "user.update" },
        ...{ actor: "console", actor_client_id: "console", address: "203.0.113.0/24" },
        ...{ request_id: "0f8f1c6a2b7d4e35", detail: { target: "u1cLmU5bGqTzqyG9bqk8Xyg", fields: ["status"] } },
        ...{ shard: "control", seq: 77, hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" },
      },
    ],
  });

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

export function toEventResource({ position, atMs, type, payload, shard, seq, hash }: EventRow) {
  const members: Record<string, string> = {};
  const detail: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(readStored("audit event", payload, isJsonObject))) {
    const place = Object.hasOwn(named, name) ? named[name as keyof typeof named] : undefined;
    if (place !== undefined && typeof value === "string") members[place] = value;
    else detail[name] = value;
  }
  return { position, time: new Date(atMs).toISOString(), type, ...members, detail, shard, seq, hash };
}

export function writePlace({ atMs, position }: EventPlace): string {
  return encodeBase64Url(encodeUtf8(`${atMs}.${position}`));
}

export function readPlace(cursor: string | undefined): EventPlace | undefined {
  if (cursor === undefined) return undefined;
  const bytes = decodeBase64Url(cursor);
  const [, atMs, position] = /^(\d{1,15})\.(\d{1,15})$/.exec(new TextDecoder().decode(bytes)) ?? [];
  if (position === undefined) throw invalidCursor();
  return { atMs: Number(atMs), position: Number(position) };
}

/** A time as RFC 3339 or seconds since the epoch. */
export const moment = z
  .string()
  .max(64)
  .refine((text) => Number.isFinite(toMs(text)), "must be RFC 3339 (2026-11-22T08:00:00Z) or seconds since the epoch")
  .transform(toMs);

function toMs(text: string): number {
  return /^\d{1,12}$/.test(text) ? Number(text) * 1000 : Date.parse(text);
}
