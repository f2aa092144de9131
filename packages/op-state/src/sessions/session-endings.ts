import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import { log } from "@edge-op/shared/runtime/log";
import type { SessionStoreRpc } from "@edge-op/shared/sessions/session-rpc";
import { callObject, shardStub } from "@edge-op/shared/storage/call-object";
import { GenerationTable, loadGenerations } from "@edge-op/shared/storage/generation-table";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { parseOpaqueId } from "@edge-op/shared/storage/shard-address";

export type SessionEndingBindings = SettingsVariables & {
  readonly DB: D1Database;
  readonly SESSION_STORE: DurableObjectNamespace<SessionStoreRpc>;
};

interface EndingSession {
  readonly sid: string;
  readonly reason: string;
}

/** The number of sessions that are ended at once, and by one run of the alarm. */
const sessionsAtOnce = 100;
/** Rows of `user_sessions` that are read before a round, while every session ends. */
const movedAtOnce = 500;
const retryMs = 5_000;

/**
 * **Ends the sessions that D1 lists as ending** (ADR 16), in rounds over the list, in the order of their ids. A round has ended when it has seen
 * every row; marks made meanwhile require another round. Repeating is harmless: an object that has ended a session has none.
 *
 * When everything is revoked, each round first moves a part of `user_sessions` to that list: sessions that began before. They are refused already, by
 * the record of their user; their objects tell their clients.
 *
 *   session_ending(id, marks, due_ms, before_ms, moved_to)    one row; due_ms NULL: D1 lists nothing that a round has not ended. before_ms: the
 *                                                             sessions that began until then are moved, up to the sid moved_to so far
 */
export class SessionEndings {
  readonly #sql: SqlStorage;
  readonly #env: SessionEndingBindings;
  /** The round in progress; a new instance begins a new round. */
  #round: { readonly marks: number; readonly after: string; readonly failed: number } | undefined;

  constructor(sql: SqlStorage, env: SessionEndingBindings) {
    this.#sql = sql;
    this.#env = env;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS session_ending (
        id INTEGER PRIMARY KEY CHECK (id = 1), marks INTEGER NOT NULL, due_ms INTEGER, before_ms INTEGER,
        moved_to TEXT NOT NULL DEFAULT '');
      INSERT OR IGNORE INTO session_ending (id, marks) VALUES (1, 0);`);
  }

  /** D1 lists sessions. Synchronous: call it in the transaction that records their change. */
  mark(atMs: number): void {
    this.#sql.exec("UPDATE session_ending SET marks = marks + 1, due_ms = ?", atMs);
  }

  /** Every session ends that began until now. Synchronous, as {@link mark}. */
  markAll(atMs: number): void {
    this.mark(atMs);
    this.#sql.exec("UPDATE session_ending SET before_ms = ?, moved_to = ''", atMs);
  }

  /** Runs as a task of the alarm. Cost: 3 D1 calls, and 1 object call for each session. */
  async resume(atMs: number): Promise<number | undefined> {
    const { marks, dueMs } = this.#sql
      .exec<{ marks: number; dueMs: number | null }>("SELECT marks, due_ms AS dueMs FROM session_ending")
      .one();
    if (dueMs === null || dueMs > atMs) return dueMs ?? undefined;
    if (this.#round === undefined) await this.#moveSome();
    const round = this.#round ?? { marks, after: "", failed: 0 };
    const listed = await this.#list(round.after, atMs);
    const failed = round.failed + (await this.#endAll(listed));
    if (listed.length === sessionsAtOnce) {
      this.#round = { ...round, after: listed.at(-1)!.sid, failed };
      return atMs;
    }
    this.#round = undefined;
    if (failed > 0) {
      this.#sql.exec("UPDATE session_ending SET due_ms = ? WHERE marks = ?", atMs + retryMs, round.marks);
    } else {
      this.#sql.exec("UPDATE session_ending SET due_ms = NULL WHERE marks = ? AND before_ms IS NULL", round.marks);
    }
    return (
      this.#sql.exec<{ dueMs: number | null }>("SELECT due_ms AS dueMs FROM session_ending").one().dueMs ?? undefined
    );
  }

  /** In the order of the sids; a part that was moved twice is moved once. Cost: 1 D1 call while every session ends, else 0. */
  async #moveSome(): Promise<void> {
    const { beforeMs, movedTo } = this.#sql
      .exec<{ beforeMs: number | null; movedTo: string }>(
        "SELECT before_ms AS beforeMs, moved_to AS movedTo FROM session_ending",
      )
      .one();
    if (beforeMs === null) return;
    const { DB } = this.#env;
    const last = "SELECT sid FROM user_sessions WHERE sid > ?1 ORDER BY sid LIMIT 1 OFFSET ?2";
    const part = `sid > ?1 AND sid <= coalesce((${last}), (SELECT max(sid) FROM user_sessions)) AND signed_in_at_ms <= ?3`;
    const [boundary] = await queryDatabase(() =>
      peopleOf(DB).batch<{ sid: string }>([
        peopleOf(DB)
          .prepare(last)
          .bind(movedTo, movedAtOnce - 1),
        peopleOf(DB)
          .prepare(
            `INSERT OR IGNORE INTO ending_sessions (sid, reason, ends_at_ms)
             SELECT sid, 'everything was revoked', ends_at_ms FROM user_sessions WHERE ${part}`,
          )
          .bind(movedTo, movedAtOnce - 1, beforeMs),
        peopleOf(DB)
          .prepare(`DELETE FROM user_sessions WHERE ${part}`)
          .bind(movedTo, movedAtOnce - 1, beforeMs),
      ]),
    );
    const sid = boundary?.results[0]?.sid;
    // Unless everything was revoked again meanwhile.
    if (sid === undefined) this.#sql.exec("UPDATE session_ending SET before_ms = NULL WHERE before_ms = ?", beforeMs);
    else this.#sql.exec("UPDATE session_ending SET moved_to = ? WHERE before_ms = ?", sid, beforeMs);
  }

  async #list(after: string, atMs: number): Promise<EndingSession[]> {
    const select = peopleOf(this.#env.DB)
      .prepare("SELECT sid, reason FROM ending_sessions WHERE sid > ?1 AND ends_at_ms > ?2 ORDER BY sid LIMIT ?3")
      .bind(after, atMs, sessionsAtOnce);
    return (await queryDatabase(() => select.all<EndingSession>())).results;
  }

  /** Returns the number of sessions whose objects did not respond. */
  async #endAll(listed: readonly EndingSession[]): Promise<number> {
    if (listed.length === 0) return 0;
    const { DB } = this.#env;
    const table = new GenerationTable((await queryDatabase(() => loadGenerations(DB))) ?? []);
    const results = await Promise.all(listed.map((session) => this.#end(table, session)));
    const ended = listed.filter((_, index) => results[index]).map(({ sid }) => sid);
    const forget = peopleOf(DB).prepare("DELETE FROM ending_sessions WHERE sid IN (SELECT value FROM json_each(?1))");
    await queryDatabase(() => forget.bind(JSON.stringify(ended)).run());
    return listed.length - ended.length;
  }

  async #end(table: GenerationTable, { sid, reason }: EndingSession): Promise<boolean> {
    const address = parseOpaqueId("ss", `ss.${sid}`)?.address;
    const region = address && table.find("session", address);
    // Every session of a retired generation has ended. A generation that D1 has lost is listed again (ADR 11).
    if (address === undefined || region === undefined)
      return address === undefined || table.isRetired("session", address.generation);
    const stub = shardStub(readSettings(this.#env), this.#env.SESSION_STORE, "session", address, region);
    try {
      await callObject("session", () => stub.end({ sid }, reason));
      return true;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      log("session-ending-delayed", { sid, cause: String(error.cause) });
      return false;
    }
  }
}
