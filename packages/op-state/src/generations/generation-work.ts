import { limits } from "@edge-op/shared/config/limits";
import { nowMs } from "@edge-op/shared/runtime/clock";
import {
  type Generation,
  loadGenerations,
  type RegionShards,
  retirementDueMs,
} from "@edge-op/shared/storage/generation-table";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import type { ShardedStore } from "@edge-op/shared/storage/shard-address";
import type { AuditOutbox } from "../audit/audit-outbox.ts";
import type { Opening, Retirement, UnfinishedWork } from "../changes/unfinished-work.ts";
import { lostGenerations, type OpenedGeneration, type OpenedGenerations } from "./opened-generations.ts";

/** The generation table names each shard, and relays lease from all of them; more than this in one region is a mistake. */
const shardsInRegion = 1_000;

/** Whether ids can name these regions; an invalid opening must not reach the ledger. The set may be empty for relays, which closes them. */
function areValidRegions(store: ShardedStore, regions: Readonly<Record<string, RegionShards>>): boolean {
  const rows = Object.entries(regions);
  return (
    (rows.length > 0 || store === "relay") &&
    rows.every(
      ([name, { shards }]) =>
        /^[a-z]{2,8}$/.test(name) && Number.isInteger(shards) && shards >= 1 && shards <= shardsInRegion,
    )
  );
}

export interface OpeningRequest {
  readonly store: ShardedStore;
  readonly regions: Readonly<Record<string, RegionShards>>;
  readonly operationId: string;
}

/** The members of the control plane that the work on the generation table uses. */
export interface GenerationTools {
  readonly storage: DurableObjectStorage;
  readonly database: D1Database;
  readonly ledger: UnfinishedWork;
  readonly opened: OpenedGenerations;
  readonly outbox: AuditOutbox;
  /** Called after an opening is stored: the alarm completes it if this instance does not. */
  wakeForOpening(): void;
  publishNewest(): Promise<unknown>;
}

/**
 * **Opens and retires generations of shards, and re-lists generations that D1 has lost** (ADR 11), one at a time. Each step is stored in the ledger
 * and idempotent, so resuming means repeating. Cost: D1 and an announcement; only the admin API waits for it.
 */
export class GenerationWork {
  readonly #tools: GenerationTools;
  /** The end of the queue. */
  #last: Promise<unknown> = Promise.resolve();
  /** Whether D1 was restored, and may have lost generations. */
  #isRestored = false;

  constructor(tools: GenerationTools) {
    this.#tools = tools;
  }

  open(request: OpeningRequest): Promise<{ readonly generation: number }> {
    if (!areValidRegions(request.store, request.regions))
      throw new Error("regions of a generation must be named and have shards");
    const { ledger, opened, storage, wakeForOpening } = this.#tools;
    return this.#oneAtATime(async () => {
      const known = ledger.findOpening(request.operationId);
      if (known?.done) return { generation: known.generation };
      await this.#finishOpenings();
      const finished = ledger.findOpening(request.operationId);
      if (finished !== undefined) return { generation: finished.generation };
      await this.#relist();
      const { operationId, store, regions } = request;
      const table = await this.readTable();
      // A number that issued ids contain is not reused, even if D1 has lost it.
      const generation = Math.max(newestGeneration(table, store), newestGeneration(opened.all(), store)) + 1;
      const opening = { operationId, store, regions, generation, done: false };
      storage.transactionSync(() => {
        ledger.addOpening(opening, nowMs());
        opened.add({ store, generation, regions, retired: false });
      });
      wakeForOpening();
      await this.#carryOut(opening);
      return { generation };
    });
  }

  /** D1 was restored. */
  restored(): void {
    this.#isRestored = true;
  }

  /** Finishes stored openings, then re-lists generations that D1 has lost: after a restoration is noticed, and when `looks` is set. */
  resume(looks: boolean): Promise<undefined> {
    return this.#oneAtATime(async () => {
      await this.#finishOpenings();
      if (!looks && !this.#isRestored) return undefined;
      await this.#relist();
      this.#isRestored = false;
      return undefined;
    });
  }

  retireDue(atMs: number): Promise<undefined> {
    return this.#oneAtATime(async () => {
      for (const retirement of this.#tools.ledger.dueRetirements(atMs)) await this.#retire(retirement, atMs);
      return undefined;
    });
  }

  async readTable(): Promise<readonly Generation[]> {
    const table = (await queryDatabase(() => loadGenerations(this.#tools.database))) ?? [];
    this.#tools.opened.note(table);
    return table;
  }

  async #finishOpenings(): Promise<void> {
    for (const opening of this.#tools.ledger.unfinishedOpenings()) await this.#carryOut(opening);
  }

  async #carryOut(opening: Opening): Promise<void> {
    const { ledger, outbox, storage } = this.#tools;
    const { operationId, store, generation, regions } = opening;
    await this.#list({ store, generation, regions, retired: false });
    const knownAtMs = nowMs();
    storage.transactionSync(() => {
      ledger.finishOpening(opening, retirementDueMs(store, knownAtMs), knownAtMs);
      outbox.append({ type: "generation-opened", payload: { operationId, store, generation, regions } }, knownAtMs);
    });
  }

  /** Oldest first. This ends the newest generation of a restored D1; its retirement follows from the table. */
  async #relist(): Promise<void> {
    const { ledger, opened, outbox, storage } = this.#tools;
    const listed = await this.readTable();
    const lost = lostGenerations(opened.all(), listed);
    for (const row of lost) {
      await this.#list(row);
      const { store, generation, regions } = row;
      outbox.append({ type: "generation-relisted", payload: { store, generation, regions } }, nowMs());
    }
    const table = lost.length === 0 ? listed : await this.readTable();
    storage.transactionSync(() => {
      for (const { store, generation, mintedUntilMs, retired } of table) {
        if (mintedUntilMs === undefined || retired) continue;
        ledger.addRetirement({ store, generation }, retirementDueMs(store, mintedUntilMs));
      }
    });
  }

  /** List, then publish: a shard reads the control log before it answers for the first time (G4). */
  async #list({ store, generation, regions, retired }: OpenedGeneration): Promise<void> {
    const { database, publishNewest } = this.#tools;
    const atMs = nowMs();
    const isNew = "NOT EXISTS (SELECT 1 FROM shard_generations WHERE store = ?3 AND generation = ?4)";
    const statements = [
      this.#announceTable(isNew, { store, generation }, atMs),
      database
        .prepare(
          `INSERT OR IGNORE INTO shard_generations (store, generation, regions, minted_from_ms, retired)
             VALUES (?1, ?2, ?3, ?4, ?5)`,
        )
        .bind(store, generation, JSON.stringify(regions), atMs, retired ? 1 : 0),
      database
        .prepare(
          `UPDATE shard_generations SET minted_until_ms = ?2 WHERE store = ?1 AND minted_until_ms IS NULL
             AND generation < (SELECT max(generation) FROM shard_generations WHERE store = ?1)`,
        )
        .bind(store, atMs),
    ];
    await queryDatabase(() => database.batch(statements), limits.databaseCommitMs);
    await publishNewest();
  }

  /**
   * Isolates learn of the retirement as of any change, also from the shards of the retired generation. A generation that has been the newest again in
   * a restored D1 (ADR 11) is not retired; its next end schedules that.
   */
  async #retire(retirement: Retirement, atMs: number): Promise<void> {
    const { database, ledger, opened, outbox, publishNewest, storage } = this.#tools;
    const { store, generation } = retirement;
    const isEnded = `minted_until_ms <= ${atMs - retirementDueMs(store, 0)}`;
    const isLive = `EXISTS (SELECT 1 FROM shard_generations WHERE store = ?3 AND generation = ?4 AND retired = 0 AND ${isEnded})`;
    const retire = `UPDATE shard_generations SET retired = 1 WHERE store = ?1 AND generation = ?2 AND ${isEnded}`;
    const statements = [
      this.#announceTable(isLive, retirement, nowMs()),
      database.prepare(retire).bind(store, generation),
    ];
    const [, retired] = await queryDatabase(() => database.batch(statements), limits.databaseCommitMs);
    if (retired!.meta.changes === 0) {
      ledger.finishRetirement(retirement);
      return;
    }
    await publishNewest();
    storage.transactionSync(() => {
      ledger.finishRetirement(retirement);
      opened.markRetired(store, generation);
      outbox.append({ type: "generation-retired", payload: { store, generation } }, nowMs());
    });
  }

  /** The row for the change that follows in the same batch, unless an earlier attempt has inserted it. */
  #announceTable(isNew: string, { store, generation }: Retirement, atMs: number): D1PreparedStatement {
    return this.#tools.database
      .prepare(`INSERT INTO control_changes (kind, id, at_ms) SELECT 'generations', ?1, ?2 WHERE ${isNew}`)
      .bind(everyId, atMs, store, generation);
  }

  #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    // The caller receives the failure; the next one in the queue runs regardless.
    this.#last = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }
}

function newestGeneration(
  generations: readonly Pick<Generation, "store" | "generation">[],
  store: ShardedStore,
): number {
  return Math.max(0, ...generations.filter((row) => row.store === store).map((row) => row.generation));
}
