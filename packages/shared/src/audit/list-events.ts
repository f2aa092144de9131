import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { queryAuditDatabase } from "../storage/query-database.ts";

export interface EventFilter {
  readonly sub?: string | undefined;
  readonly clientId?: string | undefined;
  readonly actor?: string | undefined;
  readonly target?: string | undefined;
  readonly requestId?: string | undefined;
  /** A type, or a prefix of types that ends with `*`. */
  readonly type?: string | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly before?: EventPlace | undefined;
}

export interface EventPlace {
  readonly atMs: number;
  readonly position: number;
  /** In the segments, whose order is that of the positions. */
  readonly isArchived?: boolean;
}

/** A place as text, for the cursor of a page. */
export function formatPlace({ atMs, position, isArchived = false }: EventPlace): string {
  return `${atMs}.${position}${isArchived ? ".r2" : ""}`;
}

/** `undefined` for any other text. */
export function parsePlace(text: string): EventPlace | undefined {
  const [, atMs, position, archived] = /^(\d{1,15})\.(\d{1,16})(\.r2)?$/.exec(text) ?? [];
  if (position === undefined) return undefined;
  return { atMs: Number(atMs), position: Number(position), ...(archived !== undefined && { isArchived: true }) };
}

export interface EventRow {
  readonly atMs: number;
  readonly position: number;
  readonly shard: string;
  readonly seq: number;
  readonly type: string;
  readonly payload: string;
  readonly hash: string;
  /** The segment that contains it; absent: the event is in D1. */
  readonly segment?: string;
}

/** The place after an event. */
export function placeOf({ atMs, position, segment }: EventRow): EventPlace {
  return { atMs, position, ...(segment !== undefined && { isArchived: true }) };
}

/** The columns that identify somebody or something, in the order in which they are expected to leave fewer events. */
export const identities = [
  ["requestId", "request_id"],
  ["target", "target"],
  ["sub", "sub"],
  ["actor", "actor"],
  ["clientId", "client_id"],
] as const;

/** The events at which a page with two identities looks: those of the first one. */
const mostLookedAt = 500;

interface LookedAt extends EventRow {
  readonly matches: 0 | 1;
}

export interface EventPage {
  /** At most `limit`. With two identities it may have fewer, or none, although `next` is present. */
  readonly rows: readonly EventRow[];
  /** Where the next page begins; absent at the end of the log. */
  readonly next?: EventPlace;
}

/**
 * **Selects audit events, newest first**, in one query. A page reads two rows for each of its events, whatever the filter: by identity and type, an
 * index ends with the time, and the events of several types are merged, so that a prefix or no type costs one more row for each type. With a second
 * identity a page looks at {@link mostLookedAt} events at most, and may be short. The cursor is the time and position of the last event, so that late
 * events appear on the page of their time.
 */
export async function listEvents(database: D1Database, filter: EventFilter, limit: number): Promise<EventPage> {
  const values: (string | number)[] = [];
  const bind = (value: string | number) => `?${values.push(value)}`;
  const given = identities.flatMap(([name, column]) => {
    const value = filter[name];
    return value === undefined ? [] : [`${column} = ${bind(value)}`];
  });
  const [identity, ...others] = given;
  const most = others.length === 0 ? limit + 1 : Math.max(limit + 1, mostLookedAt);
  const place = endOf(filter);
  const from = `at_ms >= ${bind(filter.fromMs ?? 0)}`;
  const end = [bind(place.atMs), bind(place.position)] as const;
  const selection = { identity, from, end, matches: others.map((other) => `+${other}`).join(" AND ") || "true" };
  const selectLooked = filter.requestId === undefined ? mergeTypes : selectOfRequest;
  const looked = selectLooked(selection, filter.type, bind);
  const select = database
    .prepare(
      `${looked} ORDER BY at_ms DESC, position DESC LIMIT ${bind(most)})
       SELECT position, at_ms AS atMs, matches, iif(matches, shard, '') AS shard, iif(matches, seq, 0) AS seq, type,
         iif(matches, payload, '{}') AS payload, iif(matches, lower(hex(hash)), '') AS hash FROM looked`,
    )
    .bind(...values);
  const { results } = await queryAuditDatabase(() => select.all<LookedAt>());
  const found = results.filter(({ matches }) => matches === 1).map(({ matches: _, ...row }) => row);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : results.length === most ? results.at(-1) : undefined;
  return { rows, ...(last && { next: { atMs: last.atMs, position: last.position } }) };
}

/** The place before which a page begins. */
function endOf({ toMs, before }: EventFilter): EventPlace {
  const end = { atMs: toMs ?? Number.MAX_SAFE_INTEGER, position: 0 };
  return before === undefined || end.atMs <= before.atMs ? end : before;
}

interface Selection {
  /** The condition with which an index begins. */
  readonly identity: string | undefined;
  readonly from: string;
  /** The time and position of {@link endOf}. */
  readonly end: readonly [string, string];
  /** Whether an event fulfils the other conditions. */
  readonly matches: string;
}

type Bind = (value: string | number) => string;

const looked = "looked(type, at_ms, position, shard, seq, payload, hash, matches)";
const event = "e.type, e.at_ms, e.position, e.shard, e.seq, e.payload, e.hash";

/** The events of a request are few: they are sorted. */
function selectOfRequest(
  { identity = "true", from, end, matches }: Selection,
  type: string | undefined,
  bind: Bind,
): string {
  const [least, below] = typesOf(type);
  const types = `+type >= ${bind(least)} AND +type < ${bind(below)}`;
  return `WITH ${looked} AS (SELECT ${event}, ${matches} FROM audit_events e WHERE ${identity} AND ${types} AND ${from} AND (at_ms, position) < (${end.join(", ")})`;
}

/**
 * The types are found by seeking the next one; a recursive query with an order is a priority queue: it begins with the newest event of each type, and
 * each event that it gives is followed by the next one of its type.
 */
function mergeTypes({ identity, from, end, matches }: Selection, type: string | undefined, bind: Bind): string {
  const own = identity === undefined ? "" : `${identity} AND`;
  const [least, below] = typesOf(type).map((text) => bind(text));
  const nextType = (bound: string) =>
    `(SELECT type FROM audit_events WHERE ${own} type ${bound} AND type < ${below} ORDER BY type LIMIT 1)`;
  // Events of one time have an order too. SQLite finds a place by a time and by a position of that time, but not by both as a pair.
  const before = (of: string, [atMs, position]: readonly [string, string]) => {
    const events = `SELECT position FROM audit_events WHERE ${own} type = ${of}.type AND`;
    return `coalesce((${events} at_ms = ${atMs} AND position < ${position} AND ${from} ORDER BY position DESC LIMIT 1),
       (${events} at_ms < ${atMs} AND ${from} ORDER BY at_ms DESC, position DESC LIMIT 1))`;
  };
  const newest = (of: string, place: readonly [string, string]) =>
    `SELECT ${event}, ${matches} FROM ${of} CROSS JOIN audit_events e ON e.position = ${before(of, place)}`;
  return `WITH RECURSIVE types(type) AS (SELECT ${nextType(`>= ${least}`)}
      UNION ALL SELECT ${nextType("> types.type")} FROM types WHERE types.type IS NOT NULL),
    ${looked} AS (${newest("types", end)}
      UNION ALL ${newest("looked", ["looked.at_ms", "looked.position"])}`;
}

/** The first type, and what is above the last one. */
export function typesOf(type = "*"): readonly [string, string] {
  if (!type.endsWith("*")) return [type, `${type}\u{1}`];
  const prefix = type.slice(0, -1);
  return [prefix, `${prefix}\u{10ffff}`];
}

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

export type ShownEvent = Pick<EventRow, "position" | "type" | "shard" | "seq" | "hash" | "segment"> &
  Partial<Record<(typeof named)[keyof typeof named], string>> & {
    /** RFC 3339. */
    readonly time: string;
    readonly detail: Readonly<Record<string, unknown>>;
  };

/** **An audit event as it is shown**: actor, client, time and origin have members of their own; everything else is in `detail`. */
export function showEvent({ atMs, payload, ...event }: EventRow): ShownEvent {
  const members: Partial<Record<(typeof named)[keyof typeof named], string>> = {};
  const detail: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(readStored("audit event", payload, isJsonObject))) {
    const place = Object.hasOwn(named, name) ? named[name as keyof typeof named] : undefined;
    if (place !== undefined && typeof value === "string") members[place] = value;
    else detail[name] = value;
  }
  const { position, type, ...others } = event;
  return { position, time: new Date(atMs).toISOString(), type, ...members, detail, ...others };
}

/**
 * The event for the person that it is about. An administrator who acted on their account is another person: neither who they are nor where from is
 * shown.
 */
export function showEventTo(sub: string, row: EventRow): ShownEvent {
  const event = showEvent(row);
  if (event.actor === undefined || event.actor === sub) return event;
  const { actor: _, actor_client_id: __, address: ___, request_id: ____, ...shown } = event;
  return shown;
}
