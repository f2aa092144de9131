import { readStored } from "@edge-op/protocol/encoding/stored-json";
import type { EventOrigin } from "@edge-op/shared/audit/event-origin";
import { longestTokenLifetimeSeconds } from "@edge-op/shared/config/settings";
import {
  type AuthorizationCodePayload,
  type AuthorizationCodeStoreRpc,
  isAuthorizationCodePayload,
  type RedeemRequest,
  type RedeemResult,
} from "@edge-op/shared/grants/authorization-code-rpc";
import type { AuthorizedGrant } from "@edge-op/shared/grants/authorized-grant";
import type {
  DecidedDevice,
  DeviceDecision,
  DevicePoll,
  DevicePollResult,
  DeviceRedeemRequest,
  DeviceRedeemResult,
  DeviceRequest,
  WaitingDevice,
} from "@edge-op/shared/grants/device-code-rpc";
import type { GrantRevocation } from "@edge-op/shared/leases/grant-revocation";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { type AuditBindings, AuditOutbox } from "../outbox/audit-outbox.ts";
import { type GrantRevocationBindings, GrantRevocations } from "../outbox/grant-revocations.ts";
import { AlarmSchedule } from "../wake/alarm-schedule.ts";
import { Fence } from "../wake/fence.ts";
import { FactsObject } from "../wake/state-object.ts";
import { DeviceCodeTable } from "./device-code-table.ts";
import { type CodeRow, decideRedemption } from "./redemption-machine.ts";

export type CodeStoreEnv = AuditBindings & GrantRevocationBindings;

const sweepRows = 1_000;
/** Expired rows may remain this long, so that one alarm sweeps many. */
const sweepDelayMs = 60_000;
/** A replay is detected for this long: until the longest access token that the code can have issued has expired. */
const spentMemoryMs = longestTokenLifetimeSeconds * 1000;

/**
 * **A shard of authorization codes and device codes** (device-code-table.ts); redemption-machine.ts decides a redemption. Decision and write are in
 * one turn, so one of any number of concurrent redemptions succeeds. The revocation after a replay is durable before the call returns. A row is
 * deleted after `until_ms`: unspent when it expires, spent a day later.
 *
 *   code(id, payload, expires_at_ms, grant_ends_at_ms, spent_by, until_ms)
 */
export class AuthorizationCodeStore
  extends FactsObject<CodeStoreEnv>
  implements Omit<AuthorizationCodeStoreRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  readonly #revocations: GrantRevocations;
  readonly #fence: Fence;
  readonly #devices: DeviceCodeTable;

  constructor(ctx: DurableObjectState, env: CodeStoreEnv) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS code (
        id TEXT PRIMARY KEY, payload TEXT NOT NULL, expires_at_ms INTEGER NOT NULL, grant_ends_at_ms INTEGER NOT NULL,
        spent_by TEXT, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS code_by_death ON code (until_ms);`);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, ctx.id.name, this.#alarms);
    this.#revocations = new GrantRevocations(ctx, env, this.#alarms);
    this.#fence = new Fence(this.#sql);
    this.#devices = new DeviceCodeTable(ctx, this.#alarms);
  }

  async put(id: string, payload: AuthorizationCodePayload, expiresAtMs: number, grantEndsAtMs: number): Promise<void> {
    this.#sql.exec(
      `INSERT INTO code (id, payload, expires_at_ms, grant_ends_at_ms, until_ms) VALUES (?1, ?2, ?3, ?4, ?3)
         ON CONFLICT DO NOTHING`,
      id,
      JSON.stringify(payload),
      expiresAtMs,
      grantEndsAtMs,
    );
    this.#alarms.wakeBy(expiresAtMs + sweepDelayMs);
  }

  async redeem(request: RedeemRequest): Promise<RedeemResult> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      this.#fence.pass();
      const { result, spend } = decideRedemption(this.#read(request.id), request, atMs);
      if (spend) {
        this.#sql.exec(
          "UPDATE code SET spent_by = ?, until_ms = ? WHERE id = ?",
          request.operationId,
          atMs + spentMemoryMs,
          request.id,
        );
        if (result.kind === "redeemed") this.#recordRedemption(result.payload, request.origin, atMs);
      }
      if (result.kind === "replayed") this.#recordReplay(result.revocation, "code.replayed", atMs);
      return result;
    });
  }

  async openDevice(request: DeviceRequest): Promise<boolean> {
    return this.#devices.open(request);
  }

  async findDevice(userCode: string, decidedBy?: string): Promise<WaitingDevice | DecidedDevice | undefined> {
    return this.#devices.find(userCode, decidedBy, nowMs());
  }

  async decideDevice(userCode: string, decision: DeviceDecision): Promise<boolean> {
    return this.#devices.decide(userCode, decision, nowMs());
  }

  async pollDevice(poll: DevicePoll): Promise<DevicePollResult> {
    return this.#devices.poll(poll, nowMs());
  }

  async redeemDevice(request: DeviceRedeemRequest): Promise<DeviceRedeemResult> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      this.#fence.pass();
      const { result, spend } = this.#devices.redeem(request, atMs);
      if (spend && result.kind === "redeemed") this.#recordRedemption(result.payload, request.origin, atMs);
      if (result.kind === "replayed") this.#recordReplay(result.revocation, "device_code.replayed", atMs);
      return result;
    });
  }

  /** One of the code's two users stole it. */
  #recordReplay(revocation: GrantRevocation, type: string, atMs: number): void {
    const { grant, clientId } = revocation;
    this.#revocations.add(revocation, atMs);
    this.#outbox.append({ type, payload: { grant_id: grant.grantId, client_id: clientId } }, atMs);
  }

  /** Call in the transaction that spends the code, so that there is exactly one event per redemption. */
  #recordRedemption({ grant, clientId, sub, scope }: AuthorizedGrant, origin: EventOrigin, atMs: number) {
    const payload = { ...origin, grantId: grant.grantId, clientId, sub, scope: scope.join(" ") };
    this.#outbox.append({ type: "code.redeemed", payload }, atMs);
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run(
      [
        (atMs, passedMs) => this.#revocations.flush(atMs, passedMs),
        (atMs) => this.#outbox.flush(atMs),
        (_, passedMs) => this.#sweep(passedMs),
        (_, passedMs) => this.#devices.sweep(passedMs),
      ],
      info,
    );
  }

  #read(id: string): CodeRow | undefined {
    const [row] = this.#sql
      .exec<{ payload: string; expiresAtMs: number; grantEndsAtMs: number; spentBy: string | null }>(
        `SELECT payload, expires_at_ms AS expiresAtMs, grant_ends_at_ms AS grantEndsAtMs, spent_by AS spentBy
           FROM code WHERE id = ?`,
        id,
      )
      .toArray();
    if (row === undefined) return undefined;
    return {
      payload: readStored("authorization code", row.payload, isAuthorizationCodePayload),
      expiresAtMs: row.expiresAtMs,
      grantEndsAtMs: row.grantEndsAtMs,
      spentBy: row.spentBy ?? undefined,
    };
  }

  #sweep(atMs: number): number | undefined {
    this.#sql.exec(
      "DELETE FROM code WHERE id IN (SELECT id FROM code WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)",
      atMs,
      sweepRows,
    );
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(until_ms) AS next FROM code").one();
    if (next === null) return undefined;
    return next <= atMs ? atMs : next + sweepDelayMs;
  }
}
