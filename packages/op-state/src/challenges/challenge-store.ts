import { nowMs } from "@edge-op/shared/runtime/clock";
import type {
  AttemptOutcome,
  ChallengeStoreRpc,
  CountedAttempt,
  Spend,
  SpendResult,
} from "@edge-op/shared/storage/challenges";
import { AlarmSchedule } from "../wake/alarm-schedule.ts";
import { FactsObject } from "../wake/state-object.ts";
import { ProofLedger, proofRow } from "./proof-ledger.ts";

/** Rows swept by one alarm. */
const sweepRows = 1_000;
/** Expired rows may remain this long, so that one alarm sweeps many. */
const sweepDelayMs = 60_000;

const proofKeys = { from: "s:dpop:", to: "s:dpop;" } as const;
/** A proof is not accepted later than this after its use: its `iat` is up to 300 s ahead, and its nonce lives for as long at most. */
const longestProofLifeMs = 660_000;

/**
 * **A shard of single-use values.** Every method decides and writes in one turn, so exactly one of any number of concurrent callers
 * succeeds. The response waits until the write is durable, so an eviction loses nothing. A row is deleted after `until_ms`; until
 * then an expired row counts as absent. DPoP proofs are in memory (`ProofLedger`); those for which it has no room, and those that endpoints of
 * the previous release spend, are rows.
 *
 *   challenge(key, value, until_ms)      value NULL: taken; of a key that was spent, the operation that did; of attempts, how many were wrong
 *   used_proofs                          one row: see {@link proofRow}
 */
export class ChallengeStore
  extends FactsObject<object>
  implements Omit<ChallengeStoreRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;
  readonly #proofs: ProofLedger;
  /** No proof that is a row can be accepted again later. */
  #proofRowsUntilMs = 0;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#alarms = new AlarmSchedule(ctx);
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS challenge (key TEXT PRIMARY KEY, value TEXT, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS challenge_by_death ON challenge (until_ms);`);
    this.#proofs = new ProofLedger(proofRow(this.#sql));
    const rows = this.#sql.exec(
      "SELECT 1 FROM challenge WHERE key >= ? AND key < ? LIMIT 1",
      proofKeys.from,
      proofKeys.to,
    );
    if (rows.toArray().length > 0) this.#proofRowsUntilMs = nowMs() + longestProofLifeMs;
  }

  /** Does not use a transaction: if one key fails, the others may stay spent, which their operation discovers when it is sent again. */
  async spendEach(spends: readonly Spend[]): Promise<readonly SpendResult[]> {
    return spends.map((spend) =>
      spend.key.startsWith(proofKeys.from) ? this.#spendProof(spend) : this.#spendKey(spend),
    );
  }

  #spendKey({ key, untilMs, operationId }: Spend): boolean {
    return this.#insert(key, operationId, untilMs) || this.#isSpentBy(key, operationId, untilMs);
  }

  #spendProof(spend: Spend): SpendResult {
    const { key, untilMs, operationId, proof } = spend;
    const atMs = nowMs();
    if (proof === undefined) return !this.#proofs.contains(spend) && this.#spendProofRow(spend);
    if (atMs < this.#proofRowsUntilMs) {
      const spentBy = this.#read(key);
      if (spentBy !== undefined) return spentBy === operationId;
    }
    const spent = this.#proofs.spend({ key, untilMs, operationId, ...proof }, atMs);
    return spent === "full" ? this.#spendProofRow(spend) : spent;
  }

  #spendProofRow(spend: Spend): boolean {
    this.#proofRowsUntilMs = nowMs() + longestProofLifeMs;
    return this.#spendKey(spend);
  }

  async put(key: string, value: string, untilMs: number): Promise<boolean> {
    return this.#insert(key, value, untilMs);
  }

  async peek(key: string): Promise<string | undefined> {
    return this.#read(key);
  }

  /** The mark remains until it expires, so that no other value can be stored under a taken key. */
  async take(key: string): Promise<string | undefined> {
    const value = this.#read(key);
    if (value !== undefined) this.#sql.exec("UPDATE challenge SET value = NULL WHERE key = ?", key);
    return value;
  }

  async attempt(key: string, { isRight, most, untilMs }: CountedAttempt): Promise<AttemptOutcome> {
    const [row] = this.#sql
      .exec<{ value: string | null }>("SELECT value FROM challenge WHERE key = ? AND until_ms > ?", key, nowMs())
      .toArray();
    const wrong = row === undefined ? 0 : Number(row.value ?? most);
    if (wrong >= most || untilMs <= nowMs()) return "over";
    this.#sql.exec(
      "INSERT OR REPLACE INTO challenge (key, value, until_ms) VALUES (?, ?, ?)",
      key,
      isRight ? null : String(wrong + 1),
      untilMs,
    );
    this.#alarms.wakeBy(untilMs + sweepDelayMs);
    if (isRight) return "right";
    return wrong + 1 < most ? "wrong" : "over";
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run([(_, passedMs) => this.#sweep(passedMs)], info);
  }

  /** Returns false for an existing key, and for one that would expire at once, because a value that is not stored could be spent again. */
  #insert(key: string, value: string, untilMs: number): boolean {
    const atMs = nowMs();
    if (untilMs <= atMs) return false;
    const written = this.#sql.exec(
      `INSERT INTO challenge (key, value, until_ms) VALUES (?1, ?2, ?3)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, until_ms = excluded.until_ms WHERE until_ms <= ?4
         RETURNING key`,
      key,
      value,
      untilMs,
      atMs,
    );
    if (written.toArray().length === 0) return false;
    this.#alarms.wakeBy(untilMs + sweepDelayMs);
    return true;
  }

  /** The response to the first call was lost: no client has received it. */
  #isSpentBy(key: string, operationId: string, untilMs: number): boolean {
    return untilMs > nowMs() && this.#read(key) === operationId;
  }

  #read(key: string): string | undefined {
    const [row] = this.#sql
      .exec<{ value: string | null }>("SELECT value FROM challenge WHERE key = ? AND until_ms > ?", key, nowMs())
      .toArray();
    return row?.value ?? undefined;
  }

  #sweep(atMs: number): number | undefined {
    this.#sql.exec(
      "DELETE FROM challenge WHERE key IN (SELECT key FROM challenge WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)",
      atMs,
      sweepRows,
    );
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(until_ms) AS next FROM challenge").one();
    if (next === null) return undefined;
    return next <= atMs ? atMs : next + sweepDelayMs;
  }
}
