import { readStored } from "@edge-op/protocol/encoding/stored-json";
import {
  type DecidedDevice,
  type DeviceDecision,
  type DevicePoll,
  type DevicePollResult,
  type DeviceRedeemRequest,
  type DeviceRedeemResult,
  type DeviceRequest,
  isDeviceDecision,
  type WaitingDevice,
} from "@edge-op/shared/codes/device-code-rpc";
import { longestTokenLifetimeSeconds } from "@edge-op/shared/config/settings";
import type { AlarmSchedule } from "../wake/alarm-schedule.ts";
import {
  type DeviceRow,
  decideDecision,
  decideDeviceRedemption,
  decidePoll,
  decisionOf,
  isUndecided,
  type PollPace,
} from "./device-machine.ts";

const sweepRows = 1_000;
const sweepDelayMs = 60_000;
/** A replay is detected until the longest access token that the code can have issued has expired. */
const spentMemoryMs = longestTokenLifetimeSeconds * 1000;
/** Devices whose pace is known, about 150 bytes each; if there are more, the device that polled longest ago may poll too early once. */
const pacesAtMost = 5_000;

type StoredRow = {
  clientId: string;
  request: string;
  intervalMs: number;
  expiresAtMs: number;
  decision: string | null;
  spentBy: string | null;
};

/**
 * **The stored device codes of a shard**; device-machine.ts decides. A poll writes nothing: the time of a device's last poll is in memory, and a new
 * instance starts without it. A row is deleted after `until_ms`: when it expires, or a day after its redemption.
 *
 *   device_code(id, user_code, client_id, request, interval_ms, expires_at_ms, decision, spent_by, until_ms)
 */
export class DeviceCodeTable {
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;
  readonly #paces = new Map<string, PollPace>();

  constructor(ctx: DurableObjectState, alarms: AlarmSchedule) {
    this.#sql = ctx.storage.sql;
    this.#alarms = alarms;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS device_code (
        id TEXT PRIMARY KEY, user_code TEXT NOT NULL UNIQUE, client_id TEXT NOT NULL, request TEXT NOT NULL,
        interval_ms INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL, decision TEXT, spent_by TEXT,
        until_ms INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS device_code_by_death ON device_code (until_ms);`);
  }

  open({ id, userCode, clientId, request, intervalMs, expiresAtMs }: DeviceRequest): boolean {
    const written = this.#sql.exec(
      `INSERT INTO device_code (id, user_code, client_id, request, interval_ms, expires_at_ms, until_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (id) DO UPDATE SET id = id
         ON CONFLICT DO NOTHING RETURNING 1`,
      ...[id, userCode, clientId, request, intervalMs, expiresAtMs],
    );
    const isNew = written.toArray().length > 0;
    if (isNew) this.#alarms.wakeBy(expiresAtMs + sweepDelayMs);
    return isNew;
  }

  find(userCode: string, decidedBy: string | undefined, atMs: number): WaitingDevice | DecidedDevice | undefined {
    const row = this.#read("user_code", userCode);
    const decided = decidedBy === undefined ? undefined : decisionOf(row, decidedBy);
    if (decided !== undefined) return { decided };
    if (row === undefined || !isUndecided(row, atMs)) return undefined;
    const { clientId, request, expiresAtMs } = row;
    return { clientId, request, expiresAtMs };
  }

  decide(userCode: string, decision: DeviceDecision, atMs: number): boolean {
    const { stands, store } = decideDecision(this.#read("user_code", userCode), decision, atMs);
    if (store) {
      this.#sql.exec("UPDATE device_code SET decision = ? WHERE user_code = ?", JSON.stringify(decision), userCode);
    }
    return stands;
  }

  poll(poll: DevicePoll, atMs: number): DevicePollResult {
    const { result, pace } = decidePoll(this.#read("id", poll.id), this.#paces.get(poll.id), poll, atMs);
    // Removed and added again, so that the map is in the order of the last polls.
    this.#paces.delete(poll.id);
    if (pace !== undefined) this.#paces.set(poll.id, pace);
    if (this.#paces.size > pacesAtMost) this.#paces.delete(this.#paces.keys().next().value!);
    return result;
  }

  redeem(request: DeviceRedeemRequest, atMs: number): { result: DeviceRedeemResult; spend: boolean } {
    const decided = decideDeviceRedemption(this.#read("id", request.id), request, atMs);
    if (decided.spend) {
      const untilMs = atMs + spentMemoryMs;
      this.#sql.exec(
        "UPDATE device_code SET spent_by = ?, until_ms = ? WHERE id = ?",
        ...[request.operationId, untilMs, request.id],
      );
    }
    return decided;
  }

  /** The alarm's task. Returns when it is next due. */
  sweep(atMs: number): number | undefined {
    this.#sql.exec(
      "DELETE FROM device_code WHERE id IN (SELECT id FROM device_code WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)",
      ...[atMs, sweepRows],
    );
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(until_ms) AS next FROM device_code").one();
    if (next === null) return undefined;
    return next <= atMs ? atMs : next + sweepDelayMs;
  }

  #read(column: "id" | "user_code", value: string): (DeviceRow & { readonly request: string }) | undefined {
    const [row] = this.#sql
      .exec<StoredRow>(
        `SELECT client_id AS clientId, request, interval_ms AS intervalMs, expires_at_ms AS expiresAtMs, decision,
                spent_by AS spentBy FROM device_code WHERE ${column} = ?`,
        value,
      )
      .toArray();
    if (row === undefined) return undefined;
    return {
      ...row,
      decision:
        row.decision === null ? undefined : readStored("decision about a device", row.decision, isDeviceDecision),
      spentBy: row.spentBy ?? undefined,
    };
  }
}
