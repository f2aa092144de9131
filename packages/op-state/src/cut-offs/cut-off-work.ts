import { limits } from "@edge-op/shared/config/limits";
import type { CommittedCutOff } from "@edge-op/shared/control/control-plane-rpc";
import { changedRecords } from "@edge-op/shared/control/control-view";
import {
  type CutOff,
  type CutOffKind,
  cutOffKey,
  cutOffKind,
  cutOffUntilMs,
  recordAll,
  recordedAtOnce,
  recordNewest,
} from "@edge-op/shared/cut-offs/cut-offs";
import type { RecordName } from "@edge-op/shared/http/request-context";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { endUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { ControlKind } from "@edge-op/shared/storage/record-kinds";
import { forgetOfflineGrants } from "@edge-op/shared/users/offline-grants";
import type { AuditOutbox } from "../audit/audit-outbox.ts";
import type { SessionEndings } from "../sessions/session-endings.ts";
import { type CutOffLedger, type CutOffOperation, isOrdered, type OrderedCutOff, resumeMs } from "./cut-off-ledger.ts";

export interface CutOffRequest {
  readonly kind: CutOffKind;
  readonly id: string;
  readonly actor: string;
}

/** The members of the control plane that the work on cut-offs uses. */
interface CutOffTools {
  readonly storage: DurableObjectStorage;
  readonly database: D1Database;
  readonly ledger: CutOffLedger;
  readonly outbox: AuditOutbox;
  readonly endings: SessionEndings;
  wakeBy(atMs: number): void;
}

/**
 * **Starts cut-offs, and orders them**: each gets the number of a change in D1, which the control plane then announces. Every step is stored in the
 * ledger and idempotent, so resuming means repeating. Cost: 1 D1 write, where the endpoint has not committed the cut-off with its change.
 */
export class CutOffWork {
  readonly #tools: CutOffTools;
  /** Those that wait for D1: concurrent calls of one operation append one change. */
  readonly #ordering = new Map<string, Promise<OrderedCutOff>>();

  constructor(tools: CutOffTools) {
    this.#tools = tools;
  }

  /** `committed`: the change in whose transaction D1 stored the cut-off. Without one, the cut-off becomes a change itself. */
  order(operationId: string, request: CutOffRequest, committed?: CommittedCutOff): Promise<OrderedCutOff> {
    return this.#order(this.#start(operationId, request), committed);
  }

  /** The cut-off is durable from here on: the alarm completes it if the caller does not. */
  #start(operationId: string, { kind, id, actor }: CutOffRequest): CutOffOperation {
    const { storage, ledger, outbox, wakeBy } = this.#tools;
    const atMs = nowMs();
    const operation = storage.transactionSync(() => {
      const known = ledger.find(operationId);
      if (known !== undefined) return known;
      const added = ledger.add(operationId, cutOffKey(kind, id), cutOffUntilMs(atMs), atMs);
      outbox.append({ type: "cut-off", payload: { kind, id, operationId, actor } }, atMs);
      return added;
    });
    wakeBy(atMs + resumeMs);
    return operation;
  }

  async #order({ operationId }: CutOffOperation, committed?: CommittedCutOff): Promise<OrderedCutOff> {
    const known = this.#ordering.get(operationId);
    if (known !== undefined) return known;
    const operation = this.#tools.ledger.find(operationId);
    if (operation === undefined) throw new Error("the operation of a cut-off is gone");
    if (isOrdered(operation)) return operation;
    const ordering = this.#commit(operation, committed).finally(() => this.#ordering.delete(operationId));
    this.#ordering.set(operationId, ordering);
    return ordering;
  }

  async #commit(operation: CutOffOperation, committed?: CommittedCutOff): Promise<OrderedCutOff> {
    const { storage, database, ledger, endings, wakeBy } = this.#tools;
    const version = committed?.version ?? (await appendCutOff(database, operation, nowMs()));
    const atMs = nowMs();
    const kind = cutOffKind(operation.key);
    const listsSessions = committed?.listsSessions !== false && kind === "sub";
    if (listsSessions || kind === "tenant") wakeBy(atMs);
    return storage.transactionSync(() => {
      if (listsSessions) endings.mark(atMs);
      if (kind === "tenant") endings.markAll(atMs);
      return ledger.order(operation.operationId, version);
    });
  }

  /** Commits those that a restored D1 has lost. */
  async orderAgain(
    operations: readonly OrderedCutOff[],
    isLost: (operation: OrderedCutOff) => boolean,
  ): Promise<OrderedCutOff[]> {
    const { database, ledger } = this.#tools;
    const again: OrderedCutOff[] = [];
    for (const operation of operations) {
      const version = isLost(operation) ? await appendCutOff(database, operation, nowMs()) : operation.version;
      again.push(ledger.order(operation.operationId, version));
    }
    return again;
  }

  /** The cut-offs whose callers have not finished them. */
  async orderDue(atMs: number): Promise<OrderedCutOff[]> {
    const due: OrderedCutOff[] = [];
    for (const operation of this.#tools.ledger.due(atMs)) due.push(await this.#order(operation));
    return due;
  }

  /** To be called when they are announced. */
  finish(operations: readonly OrderedCutOff[]): void {
    for (const { operationId } of operations) this.#tools.ledger.finish(operationId, nowMs());
  }
}

/** The cut-offs and records that an announcement is for. */
export interface Committed {
  readonly keys: readonly string[];
  /** The newest version that D1 gave to one of them; perhaps no shard has received it. */
  readonly newest: number;
  readonly names: readonly RecordName<ControlKind>[];
}

/** The cut-offs, and the records that contain them, beside other changed records. */
export function committedBy(
  operations: readonly OrderedCutOff[],
  changed: readonly RecordName<ControlKind>[],
): Committed {
  return {
    keys: operations.map(({ key }) => key),
    newest: Math.max(0, ...operations.map(({ version }) => version)),
    names: [...changed, ...operations.flatMap(({ key }) => changedRecords({ version: 0, kind: "cut-off", id: key }))],
  };
}

const userPrefix = cutOffKey("sub", "");

/**
 * **Writes a cut-off to D1, where the record of its user or client contains it** (ADR 28), before it is sent to any shard. The endpoint that
 * commits a change writes its cut-off in the same transaction.
 *
 * Makes a cut-off a change of its own, which ends the sessions and offline grants of its user: for a cut-off without a change of a record, or whose
 * change a restored D1 has lost. Returns its number. Cost: 1 D1 write.
 */
async function appendCutOff(database: D1Database, cutOff: Omit<CutOff, "version">, atMs: number): Promise<number> {
  const insert = database
    .prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('cut-off', ?1, ?2) RETURNING version")
    .bind(cutOff.key, atMs);
  const sub = cutOff.key.startsWith(userPrefix) ? cutOff.key.slice(userPrefix.length) : undefined;
  const ending =
    sub === undefined
      ? []
      : [...endUserSessions(database, sub, { reason: "cut off", atMs }), forgetOfflineGrants(database, sub)];
  const statements = [insert, recordNewest(database, cutOff), ...ending];
  const [appended] = await queryDatabase(() => database.batch<{ version: number }>(statements));
  const version = appended?.results[0]?.version;
  if (version === undefined) throw new Error("the change log returned no version");
  return version;
}

/** Writes the cut-offs that a restored D1 has lost, before the gap at which isolates discard every record (ADR 11). They do not take a number. */
export async function restoreCutOffs(database: D1Database, cutOffs: readonly CutOff[]): Promise<void> {
  await writeAll(database, cutOffs, (some) => [recordAll(database, some)]);
}

export async function lacksCutOffs(database: D1Database, cutOffs: readonly CutOff[]): Promise<boolean> {
  for (let from = 0; from < cutOffs.length; from += recordedAtOnce) {
    const some = cutOffs.slice(from, from + recordedAtOnce);
    const select = database
      .prepare(
        `SELECT 1 FROM json_each(?1)
          WHERE NOT EXISTS (SELECT 1 FROM cut_offs WHERE key = value ->> 'key' AND version >= value ->> 'version') LIMIT 1`,
      )
      .bind(JSON.stringify(some));
    if ((await queryDatabase(() => select.first())) !== null) return true;
  }
  return false;
}

async function writeAll(
  database: D1Database,
  cutOffs: readonly CutOff[],
  statementsFor: (some: readonly CutOff[]) => D1PreparedStatement[],
): Promise<void> {
  for (let from = 0; from < cutOffs.length; from += recordedAtOnce) {
    const some = cutOffs.slice(from, from + recordedAtOnce);
    await queryDatabase(() => database.batch(statementsFor(some)), limits.databaseCommitMs);
  }
}
