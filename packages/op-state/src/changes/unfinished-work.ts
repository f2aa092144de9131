import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { type CutOffIntent, isCutOffIntent } from "@edge-op/shared/control/control-plane-rpc";
import { areRegions, type RegionShards } from "@edge-op/shared/storage/generation-table";
import type { ShardedStore } from "@edge-op/shared/storage/shard-address";
import { CutOffLedger, resumeMs } from "../cut-offs/cut-off-ledger.ts";
import type { Horizon } from "../leases/durable-horizon.ts";

/** The first resumption after `begin`; a live request deletes its intent long before. */
const intentDueMs = 10_000;
const intentAgainMs = 20_000;

/**
 * The intent of a Worker that crashed is deleted after this time. `commitControlChange` starts its D1 batch within seconds of `begin` or not at all,
 * and a batch ends within 30 s, so a publication that started later contains the change, if it was committed.
 */
const intentSettledMs = 120_000;

/** The cut-off of a change that may not be committed yet. */
export interface IntendedCutOff {
  readonly operationId: string;
  readonly cutOff: CutOffIntent;
}

export interface Opening {
  readonly operationId: string;
  readonly store: ShardedStore;
  readonly generation: number;
  readonly regions: Readonly<Record<string, RegionShards>>;
  readonly done: boolean;
}

export interface Retirement {
  readonly store: ShardedStore;
  readonly generation: number;
}

/** How long a finished operation is remembered for repetitions. */
const rememberMs = 86_400_000;
const sweepRows = 1_000;

/**
 * **The ledger of `ControlPlane`**: operations that are not finished, in SQLite. Synchronous; the object decides when to act.
 *
 *   intent(operation_id, begun_at_ms, due_ms, cut_off)   deleted when published, or settled without its Worker
 *   opening(operation_id, store, generation, …, done)    deleted a day after it is done
 *   retirement(store, generation, due_ms)                deleted when every shard knows
 *   change_sweep(due_ms)                                 one row: when ended rows of D1 are next deleted
 *   grant_sweep(sub)                                     one row: up to whom the sweep has read user_grants
 *   cutOffs: cut-off-ledger.ts
 *   lease_horizon(horizon_ms, lease_ms)                  at most one row: until when leases of shards may last
 */
export class UnfinishedWork {
  readonly #sql: SqlStorage;
  readonly cutOffs: CutOffLedger;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS intent (
        operation_id TEXT PRIMARY KEY, begun_at_ms INTEGER NOT NULL, due_ms INTEGER NOT NULL, cut_off TEXT) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS opening (
        operation_id TEXT PRIMARY KEY, store TEXT NOT NULL, generation INTEGER NOT NULL, regions TEXT NOT NULL,
        due_ms INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0, UNIQUE (store, generation)) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS retirement (
        store TEXT NOT NULL, generation INTEGER NOT NULL, due_ms INTEGER NOT NULL, PRIMARY KEY (store, generation)) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS change_sweep (id INTEGER PRIMARY KEY CHECK (id = 1), due_ms INTEGER NOT NULL);
      INSERT OR IGNORE INTO change_sweep VALUES (1, 0);
      CREATE TABLE IF NOT EXISTS grant_sweep (id INTEGER PRIMARY KEY CHECK (id = 1), sub TEXT NOT NULL);
      INSERT OR IGNORE INTO grant_sweep VALUES (1, '');
      CREATE TABLE IF NOT EXISTS lease_horizon (
        id INTEGER PRIMARY KEY CHECK (id = 1), horizon_ms INTEGER NOT NULL, lease_ms INTEGER NOT NULL);`);
    this.cutOffs = new CutOffLedger(sql);
  }

  addIntent(operationId: string, cutOff: CutOffIntent | undefined, nowMs: number): number {
    this.#sql.exec(
      "INSERT OR IGNORE INTO intent VALUES (?, ?, ?, ?)",
      operationId,
      nowMs,
      nowMs + intentDueMs,
      cutOff === undefined ? null : JSON.stringify(cutOff),
    );
    return nowMs + intentDueMs;
  }

  findIntendedCutOff(operationId: string): CutOffIntent | undefined {
    return this.#intendedCutOffs("operation_id = ?", operationId)[0]?.cutOff;
  }

  /** The due intents that their Workers have not finished. */
  dueIntendedCutOffs(nowMs: number): IntendedCutOff[] {
    return this.#intendedCutOffs("due_ms <= ?", nowMs);
  }

  #intendedCutOffs(condition: string, value: string | number): IntendedCutOff[] {
    return this.#sql
      .exec<{ operationId: string; cutOff: string }>(
        `SELECT operation_id AS operationId, cut_off AS cutOff FROM intent WHERE cut_off IS NOT NULL AND ${condition}`,
        value,
      )
      .toArray()
      .map(({ operationId, cutOff }) => ({
        operationId,
        cutOff: readStored("intended cut-off", cutOff, isCutOffIntent),
      }));
  }

  clearIntent(operationId: string): void {
    this.#sql.exec("DELETE FROM intent WHERE operation_id = ?", operationId);
  }

  hasDueIntent(nowMs: number): boolean {
    return this.#sql.exec("SELECT 1 FROM intent WHERE due_ms <= ? LIMIT 1", nowMs).toArray().length > 0;
  }

  /** Called after a publication that started at `startedAtMs`. Intents are deleted by `passedMs`. */
  settleIntents(startedAtMs: number, passedMs: number): void {
    this.#sql.exec("DELETE FROM intent WHERE begun_at_ms <= ?", passedMs - intentSettledMs);
    this.#sql.exec("UPDATE intent SET due_ms = ? WHERE due_ms <= ?", startedAtMs + intentAgainMs, startedAtMs);
  }

  nextIntentMs(): number | undefined {
    return this.#earliest("SELECT min(due_ms) AS at FROM intent");
  }

  addOpening(opening: Omit<Opening, "done">, nowMs: number): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO opening (operation_id, store, generation, regions, due_ms) VALUES (?, ?, ?, ?, ?)",
      opening.operationId,
      opening.store,
      opening.generation,
      JSON.stringify(opening.regions),
      nowMs + resumeMs,
    );
  }

  findOpening(operationId: string): Opening | undefined {
    return this.#openings("operation_id = ?", operationId)[0];
  }

  unfinishedOpenings(): Opening[] {
    return this.#openings("done = 0");
  }

  /** Every shard knows the opening; the previous generation will be retired. */
  finishOpening(opening: Opening, predecessorDueMs: number, nowMs: number): void {
    this.#sql.exec(
      "UPDATE opening SET done = 1, due_ms = ? WHERE operation_id = ?",
      nowMs + rememberMs,
      opening.operationId,
    );
    this.addRetirement({ store: opening.store, generation: opening.generation - 1 }, predecessorDueMs);
  }

  /** If there are two, the later one applies. */
  addRetirement({ store, generation }: Retirement, dueMs: number): void {
    this.#sql.exec(
      `INSERT INTO retirement VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET due_ms = excluded.due_ms WHERE due_ms < excluded.due_ms`,
      store,
      generation,
      dueMs,
    );
  }

  dueRetirements(nowMs: number): Retirement[] {
    return this.#sql
      .exec<{ store: ShardedStore; generation: number }>(
        "SELECT store, generation FROM retirement WHERE due_ms <= ? ORDER BY due_ms",
        nowMs,
      )
      .toArray();
  }

  finishRetirement({ store, generation }: Retirement): void {
    this.#sql.exec("DELETE FROM retirement WHERE store = ? AND generation = ?", store, generation);
  }

  nextOperationMs(): number | undefined {
    return this.#earliest(
      `SELECT min(at) AS at FROM (SELECT min(due_ms) AS at FROM cut_off_operation
         UNION ALL SELECT min(due_ms) FROM opening UNION ALL SELECT min(due_ms) FROM retirement)`,
    );
  }

  nextDatabaseSweepMs(): number {
    return this.#sql.exec<{ at: number }>("SELECT due_ms AS at FROM change_sweep").one().at;
  }

  postponeDatabaseSweep(untilMs: number): void {
    this.#sql.exec("UPDATE change_sweep SET due_ms = ?", untilMs);
  }

  /** Returns an empty text if the next part begins with the first user. */
  sweptGrantsUntil(): string {
    return this.#sql.exec<{ sub: string }>("SELECT sub FROM grant_sweep").one().sub;
  }

  recordSweptGrants(sub: string): void {
    this.#sql.exec("UPDATE grant_sweep SET sub = ?", sub);
  }

  leaseHorizon(): Horizon | undefined {
    return this.#sql
      .exec<{ horizonMs: number; leaseMs: number }>(
        "SELECT horizon_ms AS horizonMs, lease_ms AS leaseMs FROM lease_horizon",
      )
      .toArray()[0];
  }

  /** `undefined` if no shard has a lease. */
  writeLeaseHorizon(horizon: Horizon | undefined): void {
    if (horizon === undefined) this.#sql.exec("DELETE FROM lease_horizon");
    else this.#sql.exec("INSERT OR REPLACE INTO lease_horizon VALUES (1, ?, ?)", horizon.horizonMs, horizon.leaseMs);
  }

  sweep(nowMs: number): void {
    this.cutOffs.sweep(nowMs, sweepRows);
    this.#sql.exec(
      `DELETE FROM opening WHERE operation_id IN
         (SELECT operation_id FROM opening WHERE done = 1 AND due_ms <= ? LIMIT ?)`,
      nowMs,
      sweepRows,
    );
  }

  #earliest(query: string): number | undefined {
    return this.#sql.exec<{ at: number | null }>(query).one().at ?? undefined;
  }

  #openings(where: string, ...bindings: SqlStorageValue[]): Opening[] {
    return this.#sql
      .exec<{ operationId: string; store: ShardedStore; generation: number; regions: string; done: number }>(
        `SELECT operation_id AS operationId, store, generation, regions, done FROM opening
          WHERE ${where} ORDER BY store, generation`,
        ...bindings,
      )
      .toArray()
      .map((row) => ({
        ...row,
        regions: readStored("regions of an opening", row.regions, areRegions),
        done: row.done === 1,
      }));
  }
}
