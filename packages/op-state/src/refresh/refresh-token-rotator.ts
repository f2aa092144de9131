import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { packPlace, unpackPlace } from "@edge-op/shared/grants/grant-revocation";
import {
  type FamilySnapshot,
  type FamilyState,
  type FamilyStatus,
  isRefreshFamily,
  isStoredSuccessor,
  type RefreshFamily,
  type RefreshTokenRotatorRpc,
  type RotateRequest,
  type RotateResult,
  type StoredSuccessor,
  type Successor,
  type TakenBack,
} from "@edge-op/shared/refresh/refresh-family-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { tokenLifeMs } from "@edge-op/shared/storage/generation-table";
import { isShardAddress, objectName } from "@edge-op/shared/storage/shard-address";
import { type AuditBindings, AuditOutbox } from "../audit/audit-outbox.ts";
import { type GrantRevocationBindings, GrantRevocations } from "../revocation/grant-revocations.ts";
import { AlarmSchedule } from "../wake/alarm-schedule.ts";
import { FactsObject, Fence } from "../wake/state-object.ts";
import { decideRotation, decideTakeBack, type FamilyRow, type RotationEvent } from "./rotation-machine.ts";

export type RotatorEnv = AuditBindings & GrantRevocationBindings;

const sweepRows = 1_000;
/** Expired families are swept once an hour. */
const sweepEveryMs = 3_600_000;

/**
 * **A shard of refresh families** (docs/reference/protocols.md §3); rotation-machine.ts decides the use of a token. A batch of uses is one
 * transaction and one durable commit. Rotations are metrics; anomalies and the end of a family are audit events. A family has no row until a use
 * changes it or something ends it: its first token contains it. A row is deleted at `expires_at_ms`, even if its family has ended or moved: when its
 * refresh tokens have expired and the access tokens that they gave, whose places it knows.
 *
 *   family(grant_id, family, version, rotated_at_ms, replays, status, successor, moved_to, expires_at_ms)
 *   ended_grant(grant_id, until_ms)    ended before its family had a row here; deleted at until_ms, when no token of the grant can be valid
 */
export class RefreshTokenRotator
  extends FactsObject<RotatorEnv>
  implements Omit<RefreshTokenRotatorRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #sql: SqlStorage;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  readonly #revocations: GrantRevocations;
  readonly #fence: Fence;
  /** The number of family rows written by this instance. */
  #writes = 0;

  constructor(ctx: DurableObjectState, env: RotatorEnv) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS family (
        grant_id TEXT PRIMARY KEY, family TEXT NOT NULL, version INTEGER NOT NULL, rotated_at_ms INTEGER NOT NULL,
        replays INTEGER NOT NULL, status TEXT NOT NULL, successor TEXT NOT NULL, moved_to TEXT,
        expires_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS family_by_death ON family (expires_at_ms);
      CREATE TABLE IF NOT EXISTS ended_grant (grant_id TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS ended_grant_by_death ON ended_grant (until_ms);`);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, ctx.id.name, this.#alarms);
    this.#revocations = new GrantRevocations(ctx, env, this.#alarms);
    this.#fence = new Fence(this.#sql);
  }

  async create(initial: FamilySnapshot): Promise<void> {
    const atMs = nowMs();
    this.ctx.storage.transactionSync(() => {
      const row = this.#find(initial.family.grant.grantId, initial);
      if (row !== undefined) this.#store(row, initial, atMs);
    });
  }

  async rotate(requests: readonly RotateRequest[]): Promise<readonly RotateResult[]> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const writesBefore = this.#writes;
      const results = requests.map((request) => this.#rotate(request, atMs));
      // A rotation writes anyway; only a batch of refusals and repetitions needs a write for the fence.
      if (this.#writes === writesBefore) this.#fence.pass();
      return results;
    });
  }

  async takeBack(grantId: string, operationId: string): Promise<TakenBack> {
    return this.ctx.storage.transactionSync((): TakenBack => {
      const row = this.#read(grantId);
      const before = decideTakeBack(row, operationId);
      if (before === undefined) this.#fence.pass();
      else this.#store(before, undefined, nowMs());
      return row?.movedTo === undefined ? { kind: "done" } : { kind: "moved", to: row.movedTo, handover: row.snapshot };
    });
  }

  async inspect(grantId: string): Promise<FamilyState> {
    this.#fence.pass();
    const row = this.#read(grantId);
    return row === undefined && this.#isEnded(grantId) ? { kind: "refused" } : describe(row);
  }

  async kill(
    grantId: string,
    reason: string,
    handover: FamilySnapshot | undefined,
    untilMs?: number,
  ): Promise<FamilyState> {
    const atMs = nowMs();
    return this.ctx.storage.transactionSync(() => {
      const row = this.#find(grantId, handover);
      if (row === undefined && untilMs !== undefined) return this.#refuse(grantId, untilMs);
      if (row === undefined || row.movedTo !== undefined || row.snapshot.status !== "live") return describe(row);
      const snapshot: FamilySnapshot = { ...row.snapshot, status: "killed" };
      this.#store({ snapshot, movedTo: undefined }, handover, atMs);
      this.#record("refresh.killed", snapshot.family, reason, atMs);
      return describe({ snapshot, movedTo: undefined });
    });
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run(
      [
        (atMs, passedMs) => this.#revocations.flush(atMs, passedMs),
        (atMs) => this.#outbox.flush(atMs),
        (_, passedMs) => this.#sweep(passedMs),
      ],
      info,
    );
  }

  #rotate(request: RotateRequest, atMs: number): RotateResult {
    const row = this.#find(request.grantId, request.handover);
    const { result, next, event } = decideRotation(row, request, atMs);
    if (next !== undefined) this.#store(next, request.handover, atMs);
    if (event !== undefined && row !== undefined) this.#recordRotation(event, row.snapshot.family, request, atMs);
    if (result.kind !== "invalid_grant") return result;
    if (result.theft !== undefined) this.#revocations.add(result.theft, atMs);
    return { ...result, theft: this.#revocations.find(request.grantId) };
  }

  #read(grantId: string): FamilyRow | undefined {
    const [row] = this.#sql
      .exec<StoredFamily>(
        `SELECT family, version, rotated_at_ms, replays, status, successor, moved_to FROM family WHERE grant_id = ?`,
        grantId,
      )
      .toArray();
    return row && toFamilyRow(row);
  }

  /** The row, or the one that this shard would store: afterwards its own state is newer than any handover. */
  #find(grantId: string, handover: FamilySnapshot | undefined): FamilyRow | undefined {
    const row = this.#read(grantId);
    if (row !== undefined || handover === undefined) return row;
    const status: FamilyStatus = handover.status === "live" && this.#isEnded(grantId) ? "killed" : handover.status;
    return { snapshot: { ...handover, status }, movedTo: undefined };
  }

  #isEnded(grantId: string): boolean {
    return this.#sql.exec("SELECT 1 FROM ended_grant WHERE grant_id = ?", grantId).toArray().length > 0;
  }

  /** A code may still be redeemed, and the first token of the family used, for as long as it is valid. */
  #refuse(grantId: string, untilMs: number): FamilyState {
    this.#sql.exec(
      `INSERT INTO ended_grant VALUES (?, ?) ON CONFLICT DO UPDATE SET until_ms = max(until_ms, excluded.until_ms)`,
      grantId,
      untilMs,
    );
    this.#alarms.wakeBy(nextSweepMs(untilMs));
    return { kind: "refused" };
  }

  /** Writes a row. The first row of a family here is an event: it starts with its first token, or arrives from its former shard. */
  #store({ snapshot, movedTo }: FamilyRow, handover: FamilySnapshot | undefined, atMs: number): void {
    this.#writes += 1;
    const { family, version, rotatedAtMs, replays, status, successor } = snapshot;
    const state = [version, rotatedAtMs, replays, status, JSON.stringify(toStored(successor))] as const;
    const { grantId } = family.grant;
    const moved = movedTo === undefined ? null : JSON.stringify(movedTo);
    const expiresAtMs = family.expiresAtMs + tokenLifeMs;
    const updated = this.#sql.exec(
      `UPDATE family SET version = ?, rotated_at_ms = ?, replays = ?, status = ?, successor = ?, moved_to = ?
        WHERE grant_id = ? RETURNING grant_id`,
      ...state,
      moved,
      grantId,
    );
    if (updated.toArray().length > 0) return;
    this.#sql.exec(
      `INSERT INTO family (version, rotated_at_ms, replays, status, successor, moved_to, grant_id, family, expires_at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...state,
      moved,
      grantId,
      JSON.stringify(family),
      expiresAtMs,
    );
    this.#alarms.wakeBy(nextSweepMs(expiresAtMs));
    const isStart = handover !== undefined && objectName("refresh", handover.successor.address) === this.ctx.id.name;
    this.#record(isStart ? "refresh.created" : "refresh.adopted", family, undefined, atMs);
  }

  #recordRotation(event: RotationEvent, family: RefreshFamily, request: RotateRequest, atMs: number): void {
    const presenter = request.clientId === family.clientId ? undefined : request.clientId;
    this.#record(event.type, family, event.reason, atMs, presenter);
  }

  #record(type: string, family: RefreshFamily, reason: string | undefined, atMs: number, presenter?: string): void {
    const { grant, clientId, sub } = family;
    const payload = { grant_id: grant.grantId, client_id: clientId, sub, reason, presented_by: presenter };
    this.#outbox.append({ type, payload }, atMs);
  }

  #sweep(atMs: number): number | undefined {
    this.#sql.exec(
      `DELETE FROM family WHERE grant_id IN
         (SELECT grant_id FROM family WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)`,
      atMs,
      sweepRows,
    );
    this.#sql.exec(
      `DELETE FROM ended_grant WHERE grant_id IN
         (SELECT grant_id FROM ended_grant WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)`,
      atMs,
      sweepRows,
    );
    const { next } = this.#sql
      .exec<{ next: number | null }>(
        `SELECT min(next) AS next FROM (SELECT min(expires_at_ms) AS next FROM family
           UNION ALL SELECT min(until_ms) FROM ended_grant)`,
      )
      .one();
    if (next === null) return undefined;
    return next <= atMs ? atMs : nextSweepMs(next);
  }
}

interface StoredFamily extends Record<string, SqlStorageValue> {
  readonly family: string;
  readonly version: number;
  readonly rotated_at_ms: number;
  readonly replays: number;
  readonly status: FamilyStatus;
  readonly successor: string;
  readonly moved_to: string | null;
}

function toFamilyRow(row: StoredFamily): FamilyRow {
  return {
    snapshot: {
      family: readStored("refresh family", row.family, isRefreshFamily),
      version: row.version,
      rotatedAtMs: row.rotated_at_ms,
      replays: row.replays,
      status: row.status,
      successor: fromStored(readStored("successor", row.successor, isStoredSuccessor)),
    },
    movedTo: row.moved_to === null ? undefined : readStored("shard of a moved family", row.moved_to, isShardAddress),
  };
}

function toStored({ places, ...successor }: Successor): StoredSuccessor {
  return { ...successor, places: places.map(packPlace) };
}

function fromStored({ places, ...successor }: StoredSuccessor): Successor {
  return { ...successor, places: places.map(unpackPlace) };
}

function describe(row: FamilyRow | undefined): FamilyState {
  if (row === undefined) return { kind: "unknown" };
  if (row.movedTo !== undefined) return { kind: "moved", to: row.movedTo, handover: row.snapshot };
  return { kind: "found", snapshot: row.snapshot };
}

function nextSweepMs(expiresAtMs: number): number {
  return Math.ceil(expiresAtMs / sweepEveryMs) * sweepEveryMs;
}
