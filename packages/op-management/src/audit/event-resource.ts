import { decodeBase64Url, encodeBase64Url, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { type EventPlace, formatPlace, parsePlace } from "@edge-op/shared/audit/list-events";
import * as z from "zod";
import { invalidCursor } from "../admin/list-page.ts";

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
    segment: z
      .string()
      .exactOptional()
      .describe("The object of the archive that contains it; absent: the event is in `AUDIT_DB`."),
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

export function writePlace(place: EventPlace): string {
  return encodeBase64Url(encodeUtf8(formatPlace(place)));
}

export function readPlace(cursor: string | undefined): EventPlace | undefined {
  if (cursor === undefined) return undefined;
  const place = parsePlace(new TextDecoder().decode(decodeBase64Url(cursor)));
  if (place === undefined) throw invalidCursor();
  return place;
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
