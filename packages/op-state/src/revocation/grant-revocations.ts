import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import {
  type GrantRevocation,
  grantRevocationRequests,
  isGrantRevocation,
  type PlacedRequest,
} from "@edge-op/shared/grants/grant-revocation";
import { confirmRevocation } from "@edge-op/shared/leases/confirm-revocation";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { RefreshTokenRotatorRpc } from "@edge-op/shared/refresh/refresh-family-rpc";
import { endFamily } from "@edge-op/shared/refresh/sealed-family";
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
 * it fails, the owner's alarm does the same until every shard acknowledges. The refresh family ends first, because it knows the places of the grant.
 * A shard that does not respond is called after the others, however many of its grants are due.
 *
 *   due_revocation(grant_id, revocation, until_ms, sid, shards)   sid: of a session's grants; shards: names of those to call next; deleted when
 *                                                                 acknowledged, or when every token of the grant has expired
 *   unanswered_shard(name, tried_at_ms)                           deleted when the shard responds, or none of its rows is due
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
        grant_id TEXT PRIMARY KEY, revocation TEXT NOT NULL, until_ms INTEGER NOT NULL, sid TEXT,
        shards TEXT NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS due_revocation_by_death ON due_revocation (until_ms);
      CREATE INDEX IF NOT EXISTS due_revocation_by_session ON due_revocation (sid) WHERE sid IS NOT NULL;
      CREATE TABLE IF NOT EXISTS unanswered_shard (
        name TEXT PRIMARY KEY, tried_at_ms INTEGER NOT NULL) WITHOUT ROWID;`);
  }

  /** Synchronous: call it in the transaction that detects the theft or the end. */
  add(revocation: GrantRevocation, atMs: number, sid?: string): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO due_revocation (grant_id, revocation, until_ms, sid, shards) VALUES (?, ?, ?, ?, ?)",
      revocation.grant.grantId,
      JSON.stringify(revocation),
      revocation.untilMs,
      sid ?? null,
      shardsToCall(revocation),
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
    await this.#sendNext(this.#next(atMs), atMs, passedMs);
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
        `SELECT revocation, (SELECT max(tried_at_ms) FROM unanswered_shard, json_each(shards) WHERE name = value) AS tried
           FROM due_revocation WHERE tried IS NULL OR tried NOT BETWEEN ?1 + 1 AND ?2
           ORDER BY coalesce(tried, 0), until_ms LIMIT ?3`,
        atMs - retryMs,
        atMs,
        flushRows,
      )
      .toArray()
      .map(toRevocation);
  }

  /** Ends the families, then revokes at the places, one call for each shard. What one of them has done is kept if another does not respond. */
  async #sendNext(due: readonly GrantRevocation[], atMs: number, passedMs: number): Promise<void> {
    const ended = await this.#endFamilies(due, atMs);
    const placed = ended.map((revocation) => ({ revocation, requests: grantRevocationRequests(revocation, passedMs) }));
    const byShard = Map.groupBy(
      placed.flatMap(({ requests }) => requests),
      ({ address }) => objectName("revocation", address),
    );
    const silent = new Set<string>();
    await Promise.all(
      [...byShard].map(async ([name, requests]) => {
        if (!(await this.#answers(name, requests.length, atMs, () => this.#revoke(requests)))) silent.add(name);
      }),
    );
    const isSilent = ({ address }: PlacedRequest) => silent.has(objectName("revocation", address));
    const [delayed, done] = partition(placed, ({ requests }) => requests.some(isSilent));
    for (const { revocation } of delayed) this.#update(revocation);
    this.acknowledge(done.map(({ revocation }) => revocation.grant.grantId));
  }

  /** The revocations whose families have ended, with their places. */
  async #endFamilies(due: readonly GrantRevocation[], atMs: number): Promise<readonly GrantRevocation[]> {
    const settings = readSettings(this.#env);
    const rotatorAt = async (at: ShardAddress) => shardStub(settings, this.#env.REFRESH_TOKEN_ROTATOR, "refresh", at);
    const ended: GrantRevocation[] = [];
    const byShard = Map.groupBy(due, ({ family }) => family && objectName("refresh", family.address));
    await Promise.all(
      [...byShard].map(async ([name, those]) => {
        const end = async (each: GrantRevocation) => void ended.push(await endFamily(each, rotatorAt));
        if (name === undefined) ended.push(...those);
        else await this.#answers(name, those.length, atMs, () => all(those.map(end)));
      }),
    );
    return ended;
  }

  #revoke(requests: readonly PlacedRequest[]): Promise<unknown> {
    const settings = readSettings(this.#env);
    const { address } = requests[0]!;
    const shard = () => shardStub(settings, this.#env.TOKEN_REVOCATION_STORE, "revocation", address);
    return confirmRevocation(
      settings,
      shard,
      requests.map(({ request }) => request),
    );
  }

  /** Whether the shard responds; otherwise it is called again later. */
  async #answers(name: string, grants: number, atMs: number, call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call();
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      log("grant-revocation-delayed", { shard: name, grants, cause: String(error.cause) });
      this.#sql.exec("INSERT OR REPLACE INTO unanswered_shard VALUES (?, ?)", name, atMs);
      return false;
    }
    this.#sql.exec("DELETE FROM unanswered_shard WHERE name = ?", name);
    return true;
  }

  #update(revocation: GrantRevocation): void {
    this.#sql.exec(
      "UPDATE due_revocation SET revocation = ?2, shards = ?3 WHERE grant_id = ?1",
      revocation.grant.grantId,
      JSON.stringify(revocation),
      shardsToCall(revocation),
    );
  }
}

function partition<T>(values: readonly T[], isFirst: (value: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [values.filter(isFirst), values.filter((value) => !isFirst(value))];
}

/** Waits for all of them, then fails if one has failed. */
async function all(calls: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(calls)) if (result.status === "rejected") throw result.reason;
}

/** The names of the shards that a revocation waits for: of its refresh family, then of its places. */
function shardsToCall({ grant, family, places }: GrantRevocation): string {
  const names =
    family === undefined
      ? (places ?? [grant]).map(({ address }) => objectName("revocation", address))
      : [objectName("refresh", family.address)];
  return JSON.stringify(names);
}
