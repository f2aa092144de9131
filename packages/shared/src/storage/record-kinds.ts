/**
 * **Administrative changes and the copies that they invalidate.** Each change (client, user, roles, attributes, resource, issuer, upstream providers,
 * document hosts, organisation, membership, keys, generations) is a row of D1's `control_changes`. Its number is the control version `cv`, which
 * every response of a revocation shard contains, with the rows in between. The isolate deletes the copies that they name before it continues. If the
 * shard no longer knows all of them, the isolate reads D1.
 *
 * A row of kind "cut-off" orders a cut-off among the changes (ADR 28); the records that contain the cut-off change with it (ADR 28).
 *
 * A change is committed to D1 before its `cv` is raised anywhere, so a record read at cv = n includes changes 1…n; cached records carry that `cv`. A
 * missing row number (old rows are deleted; a restored D1 leaves a gap, ADR 11) discards every copy.
 */

export type ControlKind =
  | "client"
  | "user"
  | "rbac"
  | "attributes"
  | "resource"
  | "issuer"
  | "upstreams"
  | "document-hosts"
  | "keys"
  | "generations"
  | "organization"
  | "membership"
  | "cut-off";

/** The id of a change that affects every record of its kind (a role's permissions, a group's roles). */
export const everyId = "*";

/** A record as KV stores it. */
export interface CarriedRecord {
  /** The record contains every change up to this control version. */
  readonly cv: number;
  /** JSON, at most `limits.changeRecords.eachCharacters`; `null`: there is no such record. */
  readonly text: string;
}

/**
 * An administrative change: a row of D1's `control_changes`. It names a record, and may carry it as it is after the change, so that isolates need not
 * read D1. What it carries is what KV stores: hashes of secrets sealed, private keys wrapped.
 */
export interface NamedChange {
  readonly version: number;
  readonly kind: ControlKind;
  readonly id: string;
  readonly record?: CarriedRecord | undefined;
}

/** Deletes the copy of one record, or with `undefined` of all; a `record` replaces the copy of one that was held. */
export type ForgetRecord = (id: string | undefined, record?: CarriedRecord) => void;

/** **The control version that an isolate knows**, as caches of records use it: its changes invalidate copies (control/control-view.ts). */
export interface RecordVersions {
  /** `undefined` before the first response of a revocation shard. */
  readonly version: number | undefined;
  /** Registers a cache. */
  onChange(kind: ControlKind, forget: ForgetRecord): void;
  /** Whether no change after `stamp` names the record. `stamp` is the version that was known before the record was read. */
  isCurrent(kind: ControlKind, id: string, stamp: number | undefined): boolean;
}

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
