import { queryAuditDatabase } from "./query-audit-database.ts";

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
}

/** A place as text, for the cursor of a page. */
export function formatPlace({ atMs, position }: EventPlace): string {
  return `${atMs}.${position}`;
}

/** `undefined` for any other text. */
export function parsePlace(text: string): EventPlace | undefined {
  const [, atMs, position] = /^(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  return position === undefined ? undefined : { atMs: Number(atMs), position: Number(position) };
}

export interface EventRow extends EventPlace {
  readonly shard: string;
  readonly seq: number;
  readonly type: string;
  readonly payload: string;
  readonly hash: string;
}

/**
 * **Selects audit events, newest first.** Each filter has an index that ends with the time, so a page reads about as many rows as it has. The cursor
 * is the time and position of the last event of a page, so that late events appear on the page of their time.
 */
export async function listEvents(database: D1Database, filter: EventFilter, limit: number): Promise<EventRow[]> {
  const values: (string | number)[] = [];
  const bind = (value: string | number) => `?${values.push(value)}`;
  const conditions: string[] = [];
  const equal = (column: string, value: string | undefined) => {
    if (value !== undefined) conditions.push(`${column} = ${bind(value)}`);
  };
  equal("sub", filter.sub);
  equal("client_id", filter.clientId);
  equal("actor", filter.actor);
  equal("target", filter.target);
  equal("request_id", filter.requestId);
  if (filter.type?.endsWith("*") === true) {
    const prefix = filter.type.slice(0, -1);
    conditions.push(`type >= ${bind(prefix)} AND type < ${bind(`${prefix}\u{10ffff}`)}`);
  } else equal("type", filter.type);
  if (filter.fromMs !== undefined) conditions.push(`at_ms >= ${bind(filter.fromMs)}`);
  if (filter.toMs !== undefined) conditions.push(`at_ms < ${bind(filter.toMs)}`);
  if (filter.before !== undefined) {
    conditions.push(`(at_ms, position) < (${bind(filter.before.atMs)}, ${bind(filter.before.position)})`);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const select = database
    .prepare(
      `SELECT position, shard, seq, at_ms AS atMs, type, payload, lower(hex(hash)) AS hash FROM audit_events ${where}
         ORDER BY at_ms DESC, position DESC LIMIT ${bind(limit)}`,
    )
    .bind(...values);
  return (await queryAuditDatabase(() => select.all<EventRow>())).results;
}
