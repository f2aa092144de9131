import { encodeUtf8, fnv1a, hexOf } from "@edge-op/protocol/encoding/bytes";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isNumber, isText, listOf, objectOf, readStored, recordOf } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import { within } from "../runtime/deadline.ts";
import { gunzip, gzip } from "../storage/gzip.ts";
import { canonicalJson, type StoredEvent } from "./audit-event.ts";

/** Where the audit log is: recent events in D1, and sealed segments in R2 if the deployment has the bucket. */
export interface AuditStores {
  readonly AUDIT_DB: D1Database;
  readonly AUDIT_EXPORT?: R2Bucket | undefined;
}

/** **A sealed part of the log in R2** (ADR 35): what its manifest and its row in `audit_segments` say about it. */
export interface Segment {
  /** `audit/{epoch}/{day}/{first position}.ndjson.gz` */
  readonly key: string;
  /** Positions, both inclusive. */
  readonly from: number;
  readonly to: number;
  /** The times of its oldest and newest event. */
  readonly fromMs: number;
  readonly toMs: number;
  /** SHA-256 of the object, hex. */
  readonly digest: string;
  /** The chain value before `from`, and at `to`, hex. */
  readonly before: string;
  readonly chain: string;
}

/** **One per day and epoch**, by the day of the first event of each segment. It may name segments that retention has deleted since. */
export interface Manifest {
  readonly segments: readonly Segment[];
}

const segmentMembers = {
  ...{ key: isText, from: isNumber, to: isNumber, fromMs: isNumber, toMs: isNumber },
  ...{ digest: isText, before: isText, chain: isText },
};
export const isManifest = objectOf<Manifest>({ segments: listOf(objectOf<Segment>(segmentMembers)) });

export function segmentKey({ position, atMs }: StoredEvent, epoch: number): string {
  return `audit/${epoch}/${new Date(atMs).toISOString().slice(0, 10)}/${String(position).padStart(12, "0")}.ndjson.gz`;
}

/** The manifest that lists a segment. */
export function manifestKeyOf(key: string): string {
  return `${key.slice(0, key.lastIndexOf("/"))}/manifest.json`;
}

/** The columns of `audit_segments`, as a {@link Segment}. */
export const segmentColumns = `key, from_position AS "from", to_position AS "to", from_ms AS fromMs, to_ms AS toMs,
  lower(hex(digest)) AS digest, lower(hex(before)) AS before, lower(hex(chain)) AS chain`;

/** gzip of a line for each event, in the order of the chain. The payload is an object, unless that would be read as another text. */
export function encodeSegment(events: readonly StoredEvent[]): Promise<ArrayBuffer> {
  return gzip(events.map((event) => `${JSON.stringify({ ...event, payload: payloadOf(event) })}\n`).join(""));
}

function payloadOf({ payload }: StoredEvent): unknown {
  const value: unknown = JSON.parse(payload);
  return canonicalJson(value) === payload ? value : payload;
}

interface Line extends Omit<StoredEvent, "payload"> {
  readonly payload: string | Readonly<Record<string, unknown>>;
}

const isLine = objectOf<Line>({
  ...{ position: isNumber, shard: isText, seq: isNumber, atMs: isNumber, type: isText },
  ...{ previous: isText, hash: isText, chain: isText },
  payload: (value): value is Line["payload"] => isText(value) || isJsonObject(value),
});

/** The events of the lines that contain each of `texts`, as JSON writes them: most lines of a search need not be parsed. */
export async function decodeSegment(bytes: BufferSource, texts: readonly string[] = []): Promise<StoredEvent[]> {
  const lines = (await gunzip(bytes)).split("\n").slice(0, -1);
  const spelled = texts.map((text) => JSON.stringify(text));
  return lines
    .filter((line) => spelled.every((text) => line.includes(text)))
    .map((line) => {
      const { position, shard, seq, atMs, type, payload, previous, hash, chain } = readStored(
        "audit segment",
        line,
        isLine,
      );
      const text = typeof payload === "string" ? payload : canonicalJson(payload);
      return { position, shard, seq, atMs, type, payload: text, previous, hash, chain };
    });
}

export async function digestOf(bytes: BufferSource): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The object of a segment; `undefined` if the bucket does not have it. */
export async function readSegment(bucket: R2Bucket, key: string): Promise<ArrayBuffer | undefined> {
  const read = async () => (await bucket.get(key))?.arrayBuffer();
  try {
    return await within(limits.databaseCommitMs, read(), () => {
      throw new Error(`no response within ${limits.databaseCommitMs} ms`);
    });
  } catch (cause) {
    throw new UnavailableError("AUDIT_EXPORT", cause);
  }
}

/** Payload members by which events are found with a filter; a client has two spellings. */
const identityMembers = ["sub", "clientId", "client_id", "actor", "target"];
const bitsEach = 10;
const probes = 7;
const isPayload = recordOf((value): value is unknown => value !== undefined);

/**
 * **A Bloom filter of the people, clients, actors and targets of events**: 10 bits for each, wrong for one absent identity in a hundred. It is stored
 * with the row of the segment, so that a search reads few objects. Somebody who chooses their id to be found in vain only makes a search slower.
 */
export function identityFilter(events: readonly StoredEvent[]): Uint8Array<ArrayBuffer> {
  const found = new Set<string>();
  for (const { payload } of events) {
    const members = readStored("audit event", payload, isPayload);
    for (const name of identityMembers) if (isText(members[name])) found.add(members[name]);
  }
  const filter = new Uint8Array(Math.max(8, Math.ceil((found.size * bitsEach) / 8)));
  for (const identity of found) for (const bit of bitsOf(identity, filter)) filter[bit >> 3]! |= 1 << (bit & 7);
  return filter;
}

export function mayContain(filter: Uint8Array, identity: string): boolean {
  return bitsOf(identity, filter).every((bit) => (filter[bit >> 3]! & (1 << (bit & 7))) !== 0);
}

function bitsOf(identity: string, { length }: Uint8Array): number[] {
  const text = String.fromCharCode(...encodeUtf8(identity));
  const [first, step] = [fnv1a(text), fnv1a(`${text}\u0000`) | 1];
  return Array.from({ length: probes }, (_, probe) => (first + Math.imul(step, probe)) >>> 0).map(
    (hash) => hash % (length * 8),
  );
}
