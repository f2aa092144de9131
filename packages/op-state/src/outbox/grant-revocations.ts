import { UnavailableError } from "@edge-op/shared/oauth/errors";
import { type GrantRevocation, grantRevocationRequest } from "@edge-op/shared/objects/grant-revocation";
import type { RevocationShard } from "@edge-op/shared/objects/token-revocation-store";
import { log } from "@edge-op/shared/runtime/log";
import { callObject } from "@edge-op/shared/sharding/call-object";
import { objectName } from "@edge-op/shared/sharding/shard-address";
import type { AlarmSchedule } from "./alarm-schedule.ts";

export interface GrantRevocationBindings {
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
}

const flushRows = 50;
/** The Worker that found out revokes at once; this is for when it died. */
const firstTryMs = 500;
const retryMs = 2_000;

/**
 * **Grants that an object found out and that are still to be revoked.** Added in the transaction that finds out, sent to the
 * grant's revocation shard by the owner's alarm until it acknowledges: a Worker that dies in between saves no thief (R3).
 * A shard that does not answer is tried after the others, however many of its grants are due.
 *
 *   due_revocation(grant_id, revocation, until_ms)    a row dies when acknowledged, or when nothing of the grant is alive
 *   unanswered_shard(name, tried_at_ms)               a row dies when the shard answers, or nothing of it is due
 */
export class GrantRevocations {
  readonly #sql: SqlStorage;
  readonly #env: GrantRevocationBindings;
  readonly #alarms: AlarmSchedule;

  constructor(ctx: DurableObjectState, env: GrantRevocationBindings, alarms: AlarmSchedule) {
    this.#sql = ctx.storage.sql;
    this.#env = env;
    this.#alarms = alarms;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS due_revocation (
        grant_id TEXT PRIMARY KEY, revocation TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS unanswered_shard (
        name TEXT PRIMARY KEY, tried_at_ms INTEGER NOT NULL) WITHOUT ROWID;`);
  }

  /** Synchronous: call it in the transaction that found out. */
  add(revocation: GrantRevocation, atMs: number): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO due_revocation (grant_id, revocation, until_ms) VALUES (?, ?, ?)",
      revocation.grant.grantId,
      JSON.stringify(revocation),
      revocation.untilMs,
    );
    this.#alarms.wakeBy(atMs + firstTryMs);
  }

  /** What no shard has acknowledged yet: whoever looks for the grant meanwhile revokes it as well. */
  find(grantId: string): GrantRevocation | undefined {
    const [row] = this.#sql
      .exec<{ revocation: string }>("SELECT revocation FROM due_revocation WHERE grant_id = ?", grantId)
      .toArray();
    return row && (JSON.parse(row.revocation) as GrantRevocation);
  }

  /** The owner's alarm task: one call for each shard of the next rows. `passedMs`: what has died by two clocks. */
  async flush(atMs: number, passedMs: number): Promise<number | undefined> {
    this.#sql.exec("DELETE FROM due_revocation WHERE until_ms <= ?", passedMs);
    const shards = Map.groupBy(this.#next(atMs), ({ grant }) => objectName("revocation", grant.address));
    await Promise.all([...shards].map(([name, due]) => this.#send(name, due, atMs)));
    // Each flush deletes rows or puts a shard off: it comes to an end.
    if (this.#next(atMs).length > 0) return atMs;
    if (this.#sql.exec("SELECT 1 FROM due_revocation LIMIT 1").toArray().length > 0) return atMs + retryMs;
    this.#sql.exec("DELETE FROM unanswered_shard");
    return undefined;
  }

  /** The rows to send now: not of shards that did not answer a moment ago, and last of those that did not answer before. */
  #next(atMs: number): GrantRevocation[] {
    return this.#sql
      .exec<{ revocation: string }>(
        `SELECT revocation FROM due_revocation LEFT JOIN unanswered_shard ON name =
           'revocation:g' || (revocation ->> '$.grant.address.generation') || ':' ||
           (revocation ->> '$.grant.address.region') || ':' || (revocation ->> '$.grant.address.shard')
         WHERE tried_at_ms IS NULL OR tried_at_ms NOT BETWEEN ?1 + 1 AND ?2
         ORDER BY coalesce(tried_at_ms, 0), until_ms LIMIT ?3`,
        atMs - retryMs,
        atMs,
        flushRows,
      )
      .toArray()
      .map(({ revocation }) => JSON.parse(revocation) as GrantRevocation);
  }

  async #send(name: string, due: readonly GrantRevocation[], atMs: number): Promise<void> {
    const shard = this.#env.TOKEN_REVOCATION_STORE.getByName(name);
    try {
      await callObject("revocation", () => shard.revoke(due.map(grantRevocationRequest), false));
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      log("grant-revocation-delayed", { shard: name, grants: due.length, cause: String(error.cause) });
      this.#sql.exec("INSERT OR REPLACE INTO unanswered_shard VALUES (?, ?)", name, atMs);
      return;
    }
    this.#sql.exec("DELETE FROM unanswered_shard WHERE name = ?", name);
    for (const { grant } of due) this.#sql.exec("DELETE FROM due_revocation WHERE grant_id = ?", grant.grantId);
  }
}
