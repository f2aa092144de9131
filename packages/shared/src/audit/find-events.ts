import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isText, readStored } from "@edge-op/protocol/encoding/stored-json";
import { queryAuditDatabase } from "../storage/query-database.ts";
import type { StoredEvent } from "./audit-event.ts";
import { type EventFilter, type EventPage, type EventRow, identities, listEvents, typesOf } from "./list-events.ts";
import { type AuditStores, decodeSegment, mayContain, readSegment } from "./segment.ts";

/** The segments at whose filters a page looks, and of which it reads the objects. */
const mostLookedAt = 200;
const mostRead = 8;

/**
 * **Selects audit events of both stores, newest first**: those of D1 (list-events.ts), then those of R2 in the reverse order of the chain. A page
 * looks at a bounded number of segments and may be short, or empty, although it has a `next`. Events that are moved to R2 between two pages may be on
 * both. Cost: 1 D1 call; a page that D1 does not fill 1 more, and 1 R2 call for each segment that may have an event, {@link mostRead} at most.
 */
export async function findEvents(stores: AuditStores, filter: EventFilter, limit: number): Promise<EventPage> {
  const { AUDIT_DB, AUDIT_EXPORT } = stores;
  if (filter.before?.isArchived !== true) {
    const recent = await listEvents(AUDIT_DB, filter, limit);
    if (AUDIT_EXPORT === undefined || recent.next !== undefined) return recent;
    const rest = limit - recent.rows.length;
    if (rest === 0) return { rows: recent.rows, next: placeBefore(Number.MAX_SAFE_INTEGER) };
    const { rows, next } = await findArchived(AUDIT_DB, AUDIT_EXPORT, filter, Number.MAX_SAFE_INTEGER, rest);
    return { rows: [...recent.rows, ...rows], ...(next && { next }) };
  }
  if (AUDIT_EXPORT === undefined) return { rows: [] };
  return findArchived(AUDIT_DB, AUDIT_EXPORT, filter, filter.before.position, limit);
}

function placeBefore(position: number) {
  return { atMs: 0, position, isArchived: true };
}

interface SegmentRow {
  readonly key: string;
  readonly from: number;
  readonly to: number;
  readonly identities: readonly number[];
}

async function findArchived(
  database: D1Database,
  bucket: R2Bucket,
  filter: EventFilter,
  before: number,
  limit: number,
): Promise<EventPage> {
  const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = filter;
  const select = database
    .prepare(
      `SELECT key, from_position AS "from", to_position AS "to", identities FROM audit_segments
         WHERE from_position < ?1 AND to_ms >= ?2 AND from_ms < ?3 ORDER BY to_position DESC LIMIT ?4`,
    )
    .bind(before, fromMs, toMs, mostLookedAt);
  const { results } = await queryAuditDatabase(() => select.all<SegmentRow>());
  const given = identities.flatMap(([name]) => (filter[name] === undefined ? [] : [[name, filter[name]] as const]));
  const wanted = given.map(([, identity]) => identity);
  // The filters leave the ids of requests out: there are too many.
  const filtered = given.flatMap(([name, identity]) => (name === "requestId" ? [] : [identity]));
  const rows: EventRow[] = [];
  let read = 0;
  for (const { key, from, to, identities: stored } of results) {
    const bits = Uint8Array.from(stored);
    if (!filtered.every((identity) => mayContain(bits, identity))) continue;
    if (read === mostRead) return { rows, next: placeBefore(Math.min(before, to + 1)) };
    read += 1;
    const bytes = await readSegment(bucket, key);
    // Retention deletes the object before the row.
    if (bytes === undefined) continue;
    const events = (await decodeSegment(bytes, wanted)).filter(
      (event) => event.position < before && event.position >= from && isSelected(event, filter),
    );
    for (const { position, atMs, shard, seq, type, payload, hash } of events.toReversed()) {
      if (rows.length === limit) return { rows, next: placeBefore(position + 1) };
      rows.push({ position, atMs, shard, seq, type, payload, hash, segment: key });
    }
  }
  const last = results.length === mostLookedAt ? results.at(-1) : undefined;
  return { rows, ...(last && { next: placeBefore(last.from) }) };
}

function isSelected({ atMs, type, payload }: StoredEvent, filter: EventFilter): boolean {
  const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = filter;
  const [least, below] = typesOf(filter.type);
  if (atMs < fromMs || atMs >= toMs || type < least || type >= below) return false;
  const members = readStored("audit event", payload, isJsonObject);
  const memberOf = (name: string) =>
    name === "clientId" ? (members["clientId"] ?? members["client_id"]) : members[name];
  return identities.every(([name]) => {
    const value = memberOf(name);
    return filter[name] === undefined || (isText(value) && value === filter[name]);
  });
}
