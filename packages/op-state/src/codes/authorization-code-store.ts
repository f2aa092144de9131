import type { EventOrigin } from "@edge-op/shared/audit/audit-event";
import type {
  AuthorizationCodeStoreRpc,
  SpendRequest,
  SpendResult,
} from "@edge-op/shared/codes/authorization-code-rpc";
import type {
  DecidedDevice,
  DeviceDecision,
  DevicePoll,
  DevicePollResult,
  DeviceRedeemRequest,
  DeviceRedeemResult,
  DeviceRequest,
  WaitingDevice,
} from "@edge-op/shared/codes/device-code-rpc";
import type { GrantRevocation } from "@edge-op/shared/grants/grant-revocation";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { type AuditBindings, AuditOutbox } from "../audit/audit-outbox.ts";
import { type GrantRevocationBindings, GrantRevocations } from "../revocation/grant-revocations.ts";
import { AlarmSchedule } from "../wake/alarm-schedule.ts";
import { FactsObject, Fence } from "../wake/state-object.ts";
import { DeviceCodeTable } from "./device-code-table.ts";
import { decideSpend, isTakenBack, type SpentCode } from "./redemption-machine.ts";

export type CodeStoreEnv = AuditBindings & GrantRevocationBindings;

const sweepRows = 1_000;
/** Expired rows may remain this long, so that one alarm sweeps many. */
const sweepDelayMs = 60_000;

/**
 * **A shard of spent authorization codes, and of device codes** (device-code-table.ts); redemption-machine.ts decides a redemption. Decision and
 * write are in one turn, so one of any number of concurrent redemptions succeeds. The revocation after a replay is durable before the call returns.
 * An authorization code has no row until it is spent; the row is deleted after `until_ms`, a day later, when the code has long expired.
 *
 *   spent_code(id, spent_by, until_ms)
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
      CREATE TABLE IF NOT EXISTS spent_code (
        id TEXT PRIMARY KEY, spent_by TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS spent_code_by_death ON spent_code (until_ms);`);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, ctx.id.name, this.#alarms);
    this.#revocations = new GrantRevocations(ctx, env, this.#alarms);
    this.#fence = new Fence(this.#sql);
    this.#devices = new DeviceCodeTable(ctx, this.#alarms);
  }

  async spend(request: SpendRequest): Promise<SpendResult> {
    const { id, redeemed, origin } = request;
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const { result, next } = decideSpend(this.#read(id), request, atMs);
      if (next === undefined) this.#fence.pass();
      else {
        this.#sql.exec("INSERT INTO spent_code VALUES (?, ?, ?)", id, next.spentBy, next.untilMs);
        this.#alarms.wakeBy(next.untilMs + sweepDelayMs);
        this.#recordRedemption(redeemed, origin, atMs);
      }
      if (result.kind === "replayed") this.#recordReplay(result.revocation, "code.replayed", atMs);
      return result;
    });
  }

  async takeBack({ id, operationId, redeemed }: Pick<SpendRequest, "id" | "operationId" | "redeemed">): Promise<void> {
    this.ctx.storage.transactionSync(() => {
      if (!isTakenBack(this.#read(id), operationId)) return this.#fence.pass();
      this.#sql.exec("DELETE FROM spent_code WHERE id = ?", id);
      const { grant, clientId } = redeemed;
      const payload = { grant_id: grant.grantId, client_id: clientId };
      this.#outbox.append({ type: "code.taken-back", payload }, nowMs());
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

  /**
   * Call in the transaction that spends the code, so that there is exactly one event per redemption; one that is taken back has an event of its own.
   */
  #recordRedemption({ grant, clientId, sub, scope }: SpendRequest["redeemed"], origin: EventOrigin, atMs: number) {
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

  #read(id: string): SpentCode | undefined {
    const [row] = this.#sql
      .exec<{ spentBy: string; untilMs: number }>(
        "SELECT spent_by AS spentBy, until_ms AS untilMs FROM spent_code WHERE id = ?",
        id,
      )
      .toArray();
    return row;
  }

  #sweep(atMs: number): number | undefined {
    this.#sql.exec(
      "DELETE FROM spent_code WHERE id IN (SELECT id FROM spent_code WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)",
      atMs,
      sweepRows,
    );
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(until_ms) AS next FROM spent_code").one();
    if (next === null) return undefined;
    return next <= atMs ? atMs : next + sweepDelayMs;
  }
}
