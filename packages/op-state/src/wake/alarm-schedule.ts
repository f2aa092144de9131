import { limits } from "@edge-op/shared/config/limits";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";

/**
 * Returns when it is next due, read from storage, or `undefined` if nothing is left to do. `passedMs` is a time that has passed by this machine's
 * clock and that of the platform's alarms. Tasks delete by it, so that rows survive a clock that jumps ahead (ADR 15).
 */
export type AlarmTask = (nowMs: number, passedMs: number) => number | undefined | Promise<number | undefined>;

/** The size of the object is checked at most this often. */
const sizeEveryMs = 3_600_000;
/** A task that throws is repeated after this time; the runtime itself gives up on an alarm after a few failures. */
const retryMs = 5_000;
/** A background task is started again after this time if its instance is lost meanwhile. */
const lostMs = 30_000;

/**
 * **Shares the one alarm of an object** between its sweeps, flushes and resumptions: it fires at the earliest requested time. An object creates one
 * in its constructor, calls `wakeBy` in the same turn as the write that needs it (both are one commit), and its `alarm()` is
 * `this.#alarms.run([...])`. Tasks do bounded work; a failure of one does not stop the others.
 */
export class AlarmSchedule {
  readonly #ctx: DurableObjectState;
  #nextMs: number | undefined;
  #sizedAtMs = 0;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
    // An alarm of an earlier instance may be earlier than the first one requested here.
    void ctx.blockConcurrencyWhile(async () => {
      this.#nextMs = (await ctx.storage.getAlarm()) ?? undefined;
    });
  }

  /** Sets the alarm to `atMs` or earlier. */
  wakeBy(atMs: number): void {
    if (this.#nextMs !== undefined && this.#nextMs <= atMs) return;
    this.#nextMs = atMs;
    this.#ctx.waitUntil(this.#set(atMs));
  }

  /**
   * A task that no other task waits for, such as calls of foreign URLs: the alarm starts it and ends. It runs at most once at a time. `dueMs` reads
   * its due time from storage.
   */
  inBackground(dueMs: () => number | undefined, task: AlarmTask): AlarmTask {
    let isRunning = false;
    const run = async (passedMs: number) => {
      const again = await runTask(task, passedMs);
      isRunning = false;
      if (again !== undefined) this.wakeBy(again);
    };
    return (atMs, passedMs) => {
      const due = dueMs();
      if (due === undefined || (due > atMs && !isRunning)) return due;
      if (!isRunning) {
        isRunning = true;
        this.#ctx.waitUntil(run(passedMs));
      }
      return atMs + lostMs;
    };
  }

  /** Sets the alarm at the end of the turn, because a transaction that rolls back would also discard the alarm. */
  async #set(atMs: number): Promise<void> {
    await Promise.resolve();
    if (this.#nextMs === atMs) await this.#ctx.storage.setAlarm(atMs);
  }

  /** The entire `alarm()` of an object. An alarm is not delivered before the time it was set for. */
  async run(tasks: readonly AlarmTask[], info?: AlarmInvocationInfo): Promise<void> {
    this.#nextMs = undefined;
    this.#reportSize(nowMs());
    for (const task of tasks) {
      const again = await runTask(task, info?.scheduledTime ?? Number.POSITIVE_INFINITY);
      if (again !== undefined) this.wakeBy(again);
    }
  }

  #reportSize(atMs: number): void {
    if (atMs - this.#sizedAtMs < sizeEveryMs) return;
    this.#sizedAtMs = atMs;
    const { id, storage } = this.#ctx;
    reportObjectSize(id.name ?? id.toString(), storage.sql.databaseSize);
  }
}

async function runTask(task: AlarmTask, scheduledMs: number): Promise<number | undefined> {
  const atMs = nowMs();
  try {
    return await task(atMs, Math.min(atMs, scheduledMs));
  } catch (cause) {
    log("alarm-task-failed", { cause: String(cause) });
    return nowMs() + retryMs;
  }
}

/** The share from which a database is reported as nearly full: at the growth of a large deployment, weeks before it is full. */
const nearlyFull = 0.8;
/** The same for an object, whose rows cannot move: it shrinks only as they expire, a month after a new generation was opened. */
const objectNearlyFull = 0.5;

/**
 * **Reports the size of a D1 database** after a query, once a day: a full database fails every write, so operators are warned in advance
 * (docs/operating/sizing.md). Does nothing if the platform does not state the size.
 */
export function reportSize(database: "DB" | "AUDIT_DB", result: D1Result<unknown> | undefined): void {
  const bytes = result?.meta.size_after;
  if (bytes === undefined) return;
  const size = { database, bytes, limitBytes: limits.databaseBytes };
  if (bytes >= nearlyFull * limits.databaseBytes) log("database-nearly-full", size);
  else log("database-size", size);
}

/** **Reports an object that is nearly full**, by its alarm. The size is a property of the storage: no row is read. */
function reportObjectSize(object: string, bytes: number): void {
  if (bytes < objectNearlyFull * limits.databaseBytes) return;
  log("object-nearly-full", { object, bytes, limitBytes: limits.databaseBytes });
}
