import type { ControlKind } from "./record-kinds.ts";

/** How the authority, D1, is read: by one statement, so that the newest change can be read with it. */
export interface RecordQuery<Stored> {
  statement(database: D1Database, id: string): D1PreparedStatement;
  /** `undefined`: there is no record. */
  read(rows: readonly object[]): Stored | undefined;
}

/** A kind of record: how it is read from D1, and how long KV and memory keep a copy. */
export interface StoredKind<Stored> {
  readonly kind: ControlKind;
  readonly ttlSeconds: number;
  readonly query: RecordQuery<Stored>;
}

/** **Reads one record from D1.** */
export async function loadRecord<Stored>(
  database: D1Database,
  { statement, read }: RecordQuery<Stored>,
  id: string,
): Promise<Stored | undefined> {
  const { results } = await statement(database, id).all<object>();
  return read(results);
}

/** A record, or its absence, and a control version up to which it contains every change. */
interface Stamped<Stored> {
  readonly stored: Stored | undefined;
  readonly cv: number;
}

/** The newest change in D1, read in the transaction of a record: the record contains every change up to it. */
const newestChange = "SELECT coalesce(max(version), 0) AS version FROM control_changes";

/** The record at the version that the reader knows; without one, the newest change is read with it. */
export async function loadStamped<Stored>(
  database: D1Database,
  query: RecordQuery<Stored>,
  id: string,
  version: number | undefined,
): Promise<Stamped<Stored>> {
  if (version !== undefined) return { stored: await loadRecord(database, query, id), cv: version };
  const [newest, found] = await database.batch<object>([database.prepare(newestChange), query.statement(database, id)]);
  const [{ version: cv }] = newest!.results as [{ readonly version: number }];
  return { stored: query.read(found!.results), cv };
}
