import { UnavailableError } from "@edge-op/shared/oauth/errors";
import { type GrantRevocation, grantRevocationRequest } from "@edge-op/shared/objects/grant-revocation";
import type { RevocationShard } from "@edge-op/shared/objects/token-revocation-store";
import { askObject } from "@edge-op/shared/sharding/ask-object";
import { objectName } from "@edge-op/shared/sharding/shard-address";
import type { AlarmSchedule } from "./alarm-schedule.ts";

export interface GrantRevocationBindings {
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
}

const flushRows = 50;
/** The Worker that was told revokes at once; this is for when it died. */
const firstTryMs = 500;
const retryMs = 2_000;

/**
 * **Grants that an object found out and that are still to be revoked.** Added in the transaction that finds out, told to the
 * grant's revocation shard by the owner's alarm until it acknowledges: a Worker that dies in between saves no thief (R3).
 *
 *   due_revocation(grant_id, revocation, until_ms)    a row dies when acknowledged, or when nothing of the grant is alive
 */
export class GrantRevocations {
  readonly #sql: SqlStorage;
  readonly #env: GrantRevocationBindings;
  readonly #alarms: AlarmSchedule;

  constructor(ctx: DurableObjectState, env: GrantRevocationBindings, alarms: AlarmSchedule) {
    this.#sql = ctx.storage.sql;
    this.#env = env;
    this.#alarms = alarms;
    this.#sql.exec(
      `CREATE TABLE IF NOT EXISTS due_revocation (
         grant_id TEXT PRIMARY KEY, revocation TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID`,
    );
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

  /** What no shard has acknowledged yet: whoever asks about the grant meanwhile revokes it as well. */
  find(grantId: string): GrantRevocation | undefined {
    const [row] = this.#sql
      .exec<{ revocation: string }>("SELECT revocation FROM due_revocation WHERE grant_id = ?", grantId)
      .toArray();
    return row && (JSON.parse(row.revocation) as GrantRevocation);
  }

  /** The owner's alarm task. One shard that does not answer keeps no other grant waiting. */
  async flush(atMs: number): Promise<number | undefined> {
    this.#sql.exec("DELETE FROM due_revocation WHERE until_ms <= ?", atMs);
    const due = this.#sql
      .exec<{ revocation: string }>("SELECT revocation FROM due_revocation ORDER BY until_ms LIMIT ?", flushRows)
      .toArray()
      .map((row) => JSON.parse(row.revocation) as GrantRevocation);
    if (due.length === 0) return undefined;
    const acknowledged = await Promise.all(due.map((revocation) => this.#tell(revocation)));
    return acknowledged.every(Boolean) && due.length === flushRows ? atMs : this.#next(atMs);
  }

  #next(atMs: number): number | undefined {
    const [left] = this.#sql.exec("SELECT 1 FROM due_revocation LIMIT 1").toArray();
    return left && atMs + retryMs;
  }

  async #tell(revocation: GrantRevocation): Promise<boolean> {
    const { grantId, address } = revocation.grant;
    const namespace = this.#env.TOKEN_REVOCATION_STORE;
    const shard = namespace.getByName(objectName("revocation", address));
    try {
      await askObject("revocation", () => shard.revoke([grantRevocationRequest(revocation)], false));
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      console.error(JSON.stringify({ event: "grant-revocation-delayed", grantId, cause: String(error.cause) }));
      return false;
    }
    this.#sql.exec("DELETE FROM due_revocation WHERE grant_id = ?", grantId);
    return true;
  }
}
