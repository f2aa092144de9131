import { findEvents } from "../audit/find-events.ts";
import { type EventPlace, type ShownEvent, showEventTo } from "../audit/list-events.ts";
import type { AuditStores } from "../audit/segment.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { personalTables, selectPersonalData, showRow } from "./personal-data.ts";

interface ExportBindings extends AuditStores {
  readonly DB: D1Database;
}

/** The newest ones: about 5 MB. */
export const exportedEvents = 10_000;
const eventsAtOnce = 1_000;
/** Pages of the log in one document. A page of the archive may have few events: this bounds the calls of a request. */
const mostPages = 40;

/**
 * **Everything about a person as one document**: their rows without secrets, and what happened to their account. Of what others did, it contains
 * neither who they are nor where from. Cost: 2 D1 calls, and 1 more for each further 1,000 events; of an archived log what its pages cost.
 */
export async function exportPerson(
  { env, settings }: Pick<RequestContext<ExportBindings>, "env" | "settings">,
  sub: string,
) {
  const [tables, { events, hasMore }] = await Promise.all([
    queryDatabase(() => peopleOf(env.DB).batch<Readonly<Record<string, unknown>>>(selectPersonalData(env.DB, sub))),
    readEvents(env, sub),
  ]);
  const data = personalTables.map(({ table }, index) => [table, tables[index]!.results.map(showRow)] as const);
  return {
    sub,
    issuer: settings.issuer,
    exported_at: new Date(nowMs()).toISOString(),
    data: Object.fromEntries(data),
    events: events.slice(0, exportedEvents),
    more_events: hasMore || events.length > exportedEvents,
  };
}

async function readEvents(stores: AuditStores, sub: string) {
  const events: ShownEvent[] = [];
  let before: EventPlace | undefined;
  for (let pages = 0; pages < mostPages && events.length <= exportedEvents; pages += 1) {
    const { rows, next } = await findEvents(stores, { sub, before }, eventsAtOnce);
    events.push(...rows.map((row) => showEventTo(sub, row)));
    before = next;
    if (before === undefined) break;
  }
  return { events, hasMore: before !== undefined };
}
