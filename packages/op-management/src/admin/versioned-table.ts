import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { ControlChange } from "@edge-op/shared/control/commit-control-change";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { ActorRequest } from "./actor.ts";
import type { Columns } from "./columns.ts";
import { type AdminChange, commitChange } from "./commit-change.ts";
import { type RowCondition, selectPage } from "./list-page.ts";
import { mayBeConflict, nextVersion } from "./optimistic-concurrency.ts";

interface Versioned {
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export type RecordOf<Members extends Columns> = Versioned & {
  readonly [Member in keyof Members]: ReturnType<Members[Member]["read"]>;
};
export type StoredIn<Table> = Table extends VersionedTable<infer Members> ? RecordOf<Members> : never;

interface TableOptions<Members extends Columns> {
  readonly name: string;
  /** The noun in the actions of its audit events: `client.update`. */
  readonly noun: string;
  readonly members: Members;
  /** The member by which the admin API names a record. */
  readonly key: keyof Members & string;
  /** Whether a record can have this text as its key. If not, no query is made. */
  isKey?(text: string): boolean;
  /** The member by which a list is ordered; the key by default. */
  readonly order?: keyof Members & string;
  /** The column of its document. It may not be NULL, so a statement that writes NULL fails the transaction. */
  readonly document: string;
  readonly missing: RefusalReason;
  /** The copies that a change of the record invalidates. */
  forget(record: RecordOf<Members>): readonly ControlChange[];
  /** The target that its audit events name; the key by default. */
  event?(record: RecordOf<Members>): { readonly target: string; readonly detail: JsonObject };
  /** The refusal after a failed commit, if another record has a value that must be unique. `known`: the record before a change. */
  findTaken(
    database: D1Database,
    record: RecordOf<Members>,
    known: RecordOf<Members> | undefined,
  ): Promise<OAuthError | undefined>;
}

/** The statements and copies that are committed together with a record. */
export interface BesideRecord extends Partial<Pick<AdminChange, "statements" | "forget" | "cutOff" | "notice">> {
  readonly action?: string;
  readonly detail?: JsonObject;
}

interface Page {
  /** The place of the last record before the page; empty for the first page. */
  readonly after: string;
  readonly count: number;
  readonly condition?: RowCondition | undefined;
}

/** A record and its place in the list, which a cursor contains. */
interface Placed<Listed> {
  readonly record: Listed;
  readonly place: string;
}

/**
 * **Records that administrators change, in D1**: always the authority, never a cache. A record has a key, a document and the version of its last
 * change; a change is committed only on top of the version from which it was made, together with its audit event, and invalidates every copy.
 */
export class VersionedTable<Members extends Columns> {
  readonly #options: TableOptions<Members>;
  readonly #selected: string;
  readonly #key: string;
  readonly #order: string;

  constructor(options: TableOptions<Members>) {
    this.#options = options;
    const { members, key, order = key } = options;
    const selected = Object.entries(members).map(([member, { sql }]) => `${sql} AS "${member}"`);
    this.#selected = `${selected.join(", ")}, created_at_ms AS createdAtMs, updated_at_ms AS updatedAtMs`;
    this.#key = members[key]!.sql;
    this.#order = members[order]!.sql;
  }

  get noun(): string {
    return this.#options.noun;
  }

  keyOf(record: RecordOf<Members>): string {
    return String(record[this.#options.key]);
  }

  async find(database: D1Database, key: string): Promise<RecordOf<Members> | undefined> {
    if (this.#options.isKey?.(key) === false) return undefined;
    const row = await queryDatabase(() =>
      database
        .prepare(`SELECT ${this.#selected} FROM ${this.#options.name} WHERE ${this.#key} = ?`)
        .bind(key)
        .first<Readonly<Record<string, unknown>>>(),
    );
    return row === null ? undefined : this.#read(row);
  }

  async require(database: D1Database, key: string): Promise<RecordOf<Members>> {
    const record = await this.find(database, key);
    if (record === undefined) throw new OAuthError("not_found", this.#options.missing);
    return record;
  }

  /** Each page reads about as many rows as it has, if an index begins with the condition and continues with the order (test/admin-search.test.ts). */
  async list(database: D1Database, { after, count, condition }: Page): Promise<Placed<RecordOf<Members>>[]> {
    const { where, values, order, place } = selectPage(this.#order, after, condition);
    const { results } = await queryDatabase(() =>
      database
        .prepare(
          `SELECT ${this.#selected}, ${place} AS place FROM ${this.#options.name} WHERE ${where} ORDER BY ${order} LIMIT ?`,
        )
        .bind(...values, count)
        .all<Readonly<Record<string, unknown>>>(),
    );
    return results.map((row) => ({ record: this.#read(row), place: String(row["place"]) }));
  }

  /** The records with these keys, in this order; those that do not exist are left out. */
  async findAll(database: D1Database, keys: readonly string[]): Promise<RecordOf<Members>[]> {
    if (keys.length === 0) return [];
    const { results } = await queryDatabase(() =>
      database
        .prepare(
          `SELECT ${this.#selected} FROM ${this.#options.name} WHERE ${this.#key} IN (SELECT value FROM json_each(?1))`,
        )
        .bind(JSON.stringify(keys))
        .all<Readonly<Record<string, unknown>>>(),
    );
    const found = new Map(results.map((row) => this.#read(row)).map((record) => [this.keyOf(record), record]));
    return keys.flatMap((key) => found.get(key) ?? []);
  }

  /** A statement that fails, together with its transaction, if the condition is true of the record, whose key is `?1`. */
  refuseIf(database: D1Database, key: string, condition: string, ...values: readonly unknown[]): D1PreparedStatement {
    const { name, document } = this.#options;
    return database
      .prepare(`UPDATE ${name} SET ${document} = NULL WHERE ${this.#key} = ?1 AND (${condition})`)
      .bind(key, ...values);
  }

  /** Commits a new record. `forget`: the copies that isolates may have of its absence. */
  async create(request: ActorRequest, record: RecordOf<Members>, beside: BesideRecord = {}): Promise<void> {
    const { DB } = request.context.env;
    try {
      const change = this.#change("create", record, beside);
      await commitChange(request, { ...change, statements: [this.#insert(DB, record), ...change.statements] });
    } catch (cause) {
      throw (await this.#taken(DB, cause, record, undefined)) ?? cause;
    }
  }

  /** Commits the next version of a record; `undefined` if another change came in between. */
  async update(
    request: ActorRequest,
    known: RecordOf<Members>,
    changed: Partial<RecordOf<Members>>,
    beside: BesideRecord = {},
  ): Promise<RecordOf<Members> | undefined> {
    const { DB } = request.context.env;
    const record = { ...known, ...changed, updatedAtMs: nextVersion(known.updatedAtMs, nowMs()) };
    try {
      const change = this.#change("update", known, beside);
      await commitChange(request, {
        ...change,
        statements: [this.#update(DB, record, known.updatedAtMs), ...change.statements],
      });
      return record;
    } catch (cause) {
      const taken = await this.#taken(DB, cause, record, known);
      if (taken !== undefined) throw taken;
      if (!mayBeConflict(cause)) throw cause;
      const current = await this.find(DB, this.keyOf(known));
      if (current?.updatedAtMs !== known.updatedAtMs) return undefined;
      throw cause;
    }
  }

  async remove(request: ActorRequest, record: RecordOf<Members>, beside: BesideRecord = {}): Promise<void> {
    const change = this.#change("delete", record, beside);
    const statement = request.context.env.DB.prepare(`DELETE FROM ${this.#options.name} WHERE ${this.#key} = ?`);
    await commitChange(request, {
      ...change,
      statements: [...change.statements, statement.bind(this.keyOf(record))],
    });
  }

  #change(
    verb: "create" | "update" | "delete",
    record: RecordOf<Members>,
    { action = verb, detail = {}, statements = [], forget = [], cutOff, notice }: BesideRecord,
  ): AdminChange {
    const { noun, event } = this.#options;
    const { target, detail: named } = event?.(record) ?? { target: this.keyOf(record), detail: {} };
    const whole = { ...named, ...detail };
    return {
      statements,
      forget: verb === "create" ? forget : [...this.#options.forget(record), ...forget],
      event: { action: `${noun}.${action}`, target, ...(Object.keys(whole).length === 0 ? {} : { detail: whole }) },
      cutOff,
      notice,
    };
  }

  async #taken(
    database: D1Database,
    cause: unknown,
    record: RecordOf<Members>,
    known: RecordOf<Members> | undefined,
  ): Promise<OAuthError | undefined> {
    return mayBeConflict(cause) ? this.#options.findTaken(database, record, known) : undefined;
  }

  #insert(database: D1Database, record: RecordOf<Members>): D1PreparedStatement {
    const values = { ...this.#written(record), created_at_ms: record.createdAtMs, updated_at_ms: record.updatedAtMs };
    const columns = Object.keys(values);
    return database
      .prepare(
        `INSERT INTO ${this.#options.name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
      )
      .bind(...Object.values(values));
  }

  /** Fails, together with its transaction, if the version is no longer `expected`. */
  #update(database: D1Database, record: RecordOf<Members>, expected: number): D1PreparedStatement {
    const { name, document } = this.#options;
    const { [this.#key]: key, ...values } = this.#written(record);
    const sets = Object.keys(values).map((column, index) =>
      column === document ? `${column} = iif(updated_at_ms = ?1, ?${index + 4}, NULL)` : `${column} = ?${index + 4}`,
    );
    return database
      .prepare(`UPDATE ${name} SET ${[...sets, "updated_at_ms = ?2"].join(", ")} WHERE ${this.#key} = ?3`)
      .bind(expected, record.updatedAtMs, key, ...Object.values(values));
  }

  /** The columns of a record, with their values. */
  #written(record: RecordOf<Members>): Readonly<Record<string, unknown>> {
    const { members } = this.#options;
    return Object.assign(
      {},
      ...Object.entries(members).map(([name, column]) => column.write(Reflect.get(record, name))),
    );
  }

  #read(row: Readonly<Record<string, unknown>>): RecordOf<Members> {
    const { members } = this.#options;
    const own = Object.entries(members).map(([name, column]) => [name, column.read(row[name])]);
    const { createdAtMs, updatedAtMs } = row;
    return { ...Object.fromEntries(own), createdAtMs, updatedAtMs } as RecordOf<Members>;
  }
}
