import { type EventPlace, listEvents, type ShownEvent, showEventTo } from "../audit/list-events.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { personalTables, selectPersonalData, showRow } from "./personal-data.ts";

interface ExportBindings {
  readonly DB: D1Database;
  readonly AUDIT_DB: D1Database;
}

/** The newest ones: about 5 MB. */
export const exportedEvents = 10_000;
const eventsAtOnce = 1_000;

/**
 * **Everything about a person as one document**: their rows without secrets, and what happened to their account. Of what others did, it contains
 * neither who they are nor where from. Cost: 2 D1 calls, and 1 more for each further 1,000 events.
 */
export async function exportPerson(
  { env, settings }: Pick<RequestContext<ExportBindings>, "env" | "settings">,
  sub: string,
) {
  const [tables, events] = await Promise.all([
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
    more_events: events.length > exportedEvents,
  };
}

async function readEvents({ AUDIT_DB }: ExportBindings, sub: string): Promise<ShownEvent[]> {
  const events: ShownEvent[] = [];
  let before: EventPlace | undefined;
  do {
    const { rows, next } = await listEvents(AUDIT_DB, { sub, before }, eventsAtOnce);
    events.push(...rows.map((row) => showEventTo(sub, row)));
    before = next;
  } while (before !== undefined && events.length <= exportedEvents);
  return events;
}
