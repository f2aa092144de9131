import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import { endFamily } from "@edge-op/shared/grants/end-family";
import type { RefreshTokenRotatorRpc } from "@edge-op/shared/grants/refresh-family-rpc";
import { confirmRevocation } from "@edge-op/shared/leases/confirm-revocation";
import {
  type GrantRevocation,
  grantRevocationRequest,
  isGrantRevocation,
} from "@edge-op/shared/leases/grant-revocation";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import { log } from "@edge-op/shared/runtime/log";
import { shardStub } from "@edge-op/shared/storage/call-object";
import { objectName, type ShardAddress } from "@edge-op/shared/storage/shard-address";
import type { AlarmSchedule } from "../wake/alarm-schedule.ts";

export interface GrantRevocationBindings extends SettingsVariables {
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
  readonly REFRESH_TOKEN_ROTATOR: DurableObjectNamespace<RefreshTokenRotatorRpc>;
}

function toRevocation({ revocation }: { readonly revocation: string }): GrantRevocation {
  return readStored("due revocation", revocation, isGrantRevocation);
}

const flushRows = 50;
/** The maximum number of a session's grants that its Worker revokes at once. */
const dueAtMost = 200;
const sweepRows = 1_000;
/** The Worker that detected it revokes at once; the alarm is for a Worker that failed. */
const firstTryMs = 500;
const retryMs = 2_000;

/**
 * **The grants that an object must still revoke.** A row is added in the transaction that detects the theft or the end of the grant. It stays until
 * the revocation is in force everywhere, so that a repeated request finds it and waits too (R3). The Worker revokes and waits before it responds; if
 * it fails, the owner's alarm does the same until the shard acknowledges. The refresh family ends first. A shard that does not respond is called
 * after the others, however many of its grants are due.
 *
 *   due_revocation(grant_id, revocation, until_ms, sid)    sid: of a session's grants; deleted when acknowledged, or when every token of the grant has expired
 *   unanswered_shard(name, tried_at_ms)                    deleted when the shard responds, or none of its rows is due
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
        grant_id TEXT PRIMARY KEY, revocation TEXT NOT NULL, until_ms INTEGER NOT NULL, sid TEXT) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS due_revocation_by_death ON due_revocation (until_ms);
      CREATE INDEX IF NOT EXISTS due_revocation_by_session ON due_revocation (sid) WHERE sid IS NOT NULL;
      CREATE TABLE IF NOT EXISTS unanswered_shard (
        name TEXT PRIMARY KEY, tried_at_ms INTEGER NOT NULL) WITHOUT ROWID;`);
  }

  /** Synchronous: call it in the transaction that detects the theft or the end. */
  add(revocation: GrantRevocation, atMs: number, sid?: string): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO due_revocation (grant_id, revocation, until_ms, sid) VALUES (?, ?, ?, ?)",
      revocation.grant.grantId,
      JSON.stringify(revocation),
      revocation.untilMs,
      sid ?? null,
    );
    this.#alarms.wakeBy(atMs + firstTryMs);
  }

  /** The revocation that no shard has acknowledged yet; another request for the grant sends it too. */
  find(grantId: string): GrantRevocation | undefined {
    const [row] = this.#sql
      .exec<{ revocation: string }>("SELECT revocation FROM due_revocation WHERE grant_id = ?", grantId)
      .toArray();
    return row && toRevocation(row);
  }

  /** The first due grants of a session, or of one client in it. */
  ofSession(sid: string, clientId?: string): readonly GrantRevocation[] {
    return this.#sql
      .exec<{ revocation: string }>(
        `SELECT revocation FROM due_revocation
          WHERE sid = ?1 AND (?2 IS NULL OR revocation ->> '$.clientId' = ?2) ORDER BY until_ms LIMIT ?3`,
        sid,
        clientId ?? null,
        dueAtMost,
      )
      .toArray()
      .map(toRevocation);
  }

  /** The revocation of these grants is in force everywhere. */
  acknowledge(grantIds: readonly string[]): void {
    this.#sql.exec(
      "DELETE FROM due_revocation WHERE grant_id IN (SELECT value FROM json_each(?))",
      JSON.stringify(grantIds),
    );
  }

  /** The owner's alarm task: one call per shard of the next rows. `passedMs` is a time that has passed by both clocks. */
  async flush(atMs: number, passedMs: number): Promise<number | undefined> {
    const ended = this.#sql.exec(
      `DELETE FROM due_revocation WHERE grant_id IN
         (SELECT grant_id FROM due_revocation WHERE until_ms <= ? ORDER BY until_ms LIMIT ?) RETURNING grant_id`,
      passedMs,
      sweepRows,
    );
    if (ended.toArray().length === sweepRows) return atMs;
    const shards = Map.groupBy(this.#next(atMs), ({ grant }) => objectName("revocation", grant.address));
    await Promise.all([...shards].map(([name, due]) => this.#send(name, due, atMs)));
    // Each flush deletes rows or postpones a shard, so it terminates.
    if (this.#next(atMs).length > 0) return atMs;
    if (this.#sql.exec("SELECT 1 FROM due_revocation LIMIT 1").toArray().length > 0) return atMs + retryMs;
    this.#sql.exec("DELETE FROM unanswered_shard");
    return undefined;
  }

  /** The rows to send now: none of shards that have just failed, and those of shards that failed earlier come last. */
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
      .map(toRevocation);
  }

  async #send(name: string, due: readonly GrantRevocation[], atMs: number): Promise<void> {
    const { address } = due[0]!.grant;
    const settings = readSettings(this.#env);
    const shard = () => shardStub(settings, this.#env.TOKEN_REVOCATION_STORE, "revocation", address);
    const rotatorAt = async (at: ShardAddress) => shardStub(settings, this.#env.REFRESH_TOKEN_ROTATOR, "refresh", at);
    try {
      const ended = await Promise.all(due.map((each) => endFamily(each, rotatorAt)));
      await confirmRevocation(settings, shard, ended.map(grantRevocationRequest));
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      log("grant-revocation-delayed", { shard: name, grants: due.length, cause: String(error.cause) });
      this.#sql.exec("INSERT OR REPLACE INTO unanswered_shard VALUES (?, ?)", name, atMs);
      return;
    }
    this.#sql.exec("DELETE FROM unanswered_shard WHERE name = ?", name);
    this.acknowledge(due.map(({ grant }) => grant.grantId));
  }
}
