import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { isolateMemory, limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { firstResult } from "../runtime/deadline.ts";
import { mapEntryBytes, ownText, stringBytes } from "../runtime/isolate-cache.ts";
import { log } from "../runtime/log.ts";
import { queryDatabase } from "../storage/query-database.ts";
import { type ControlKind, everyId, type ForgetRecord, type NamedChange } from "../storage/record-kinds.ts";
import { SharedCall } from "../storage/shared-call.ts";

/** The number and time of a row of D1's `control_changes`. Two rows with the same number differ in their times. */
export interface ChangeVersion {
  readonly version: number;
  readonly atMs: number;
}

/**
 * **Leaves a gap in the numbers of `control_changes` after D1 was restored to an earlier moment** (ADR 11): the next number is two beyond the largest
 * in D1 and the last announced one. Every reader finds a number missing and discards its copies. The new row is a change of kind `keys`, because D1
 * may have lost a key revocation. `found` is for the log.
 *
 * With `unlessFound`, it inserts only if D1 has no row from `told` on, and otherwise returns `undefined`.
 */
export async function leaveGap(
  database: D1Database,
  { told, found, unlessFound }: { readonly told: number; readonly found: number; readonly unlessFound: boolean },
): Promise<ChangeVersion | undefined> {
  const atMs = nowMs();
  const insert = database
    .prepare(
      `INSERT INTO control_changes (version, kind, id, at_ms)
         SELECT max(coalesce((SELECT max(version) FROM control_changes), 0), ?1) + 2, 'keys', '*', ?2
           WHERE ?3 = 0 OR NOT EXISTS (SELECT 1 FROM control_changes WHERE version >= ?1) RETURNING version`,
    )
    .bind(told, atMs, unlessFound ? 1 : 0);
  const row = await queryDatabase(() => insert.first<{ readonly version: number }>());
  if (row === null) return undefined;
  log("d1-set-back", { told, found, now: row.version });
  return { version: row.version, atMs };
}

interface ControlBindings {
  readonly DB: D1Database;
}

/** With more changes than this at once, every copy is discarded instead. */
const changesAtOnce = 500;

export class ControlView {
  #version: number | undefined;
  /** It is unknown which records changed before this version: older KV copies are not used. */
  #base = 0;
  readonly #lastChange = new Map<string, number>();
  /** The estimated size of `#lastChange`. */
  #changeBytes = 0;
  readonly #forget = new Map<ControlKind, ForgetRecord[]>();
  /** The rows after a version. Every shard's response announces a change at the same moment: one read serves all of them. */
  readonly #reads = new SharedCall<ControlBindings, number, readonly NamedChange[]>({
    name: "D1",
    callMs: limits.databaseCallMs,
    joinsCallInFlight: true,
    send: (context, after) => readChanges(context.env.DB, after),
  });

  /** The newest control version that this isolate has applied; `undefined` before the first response of a shard. */
  get version(): number | undefined {
    return this.#version;
  }

  get heldBytes(): number {
    return this.#changeBytes;
  }

  /** Registers a cache. */
  onChange(kind: ControlKind, forget: ForgetRecord): void {
    this.#forget.set(kind, [...(this.#forget.get(kind) ?? []), forget]);
  }

  /** Whether no change after `stamp` names the record. `stamp` is the version that was known before the record was read. */
  isCurrent(kind: ControlKind, id: string, stamp: number | undefined): boolean {
    if (this.#version === undefined || stamp === undefined) return stamp === this.#version;
    if (stamp < this.#base || stamp < (this.#lastChange.get(`${kind}:${everyId}`) ?? 0)) return false;
    return stamp >= (this.#lastChange.get(`${kind}:${id}`) ?? 0);
  }

  /**
   * Receives the `cv` of a shard; resolves when every change up to it is applied. Cost: none if `named` contains every change in between;
   * otherwise one D1 read, which concurrent calls share.
   */
  async observe(
    context: RequestContext<ControlBindings>,
    cv: number,
    named: readonly NamedChange[] = [],
  ): Promise<void> {
    if (this.#version === undefined) {
      this.#start(cv, named);
      return;
    }
    if (cv <= this.#version) return;
    const known = this.#version;
    const news = named.filter(({ version }) => version > known);
    if (news[0]?.version === known + 1 && news.at(-1)?.version === cv && news.length === cv - known) {
      this.#apply(news, cv);
      return;
    }
    const rows = await this.#readUpTo(context, known, cv);
    // A change that no shard announced may be lost when D1 is restored, and its number may be reused (ADR 28).
    const changes = rows.some(({ version }) => version === cv) ? rows.filter(({ version }) => version <= cv) : rows;
    if (rows.length >= changesAtOnce) {
      // Too many rows to read. The announced version is committed, and every earlier copy is discarded.
      if (cv > this.#version) this.#forgetAll(cv);
      return;
    }
    const last = changes.at(-1)?.version ?? known;
    if (last < cv) {
      const { DB } = context.env;
      const gap = await leaveGap(DB, { told: cv, found: last, unlessFound: true });
      // The read returned older rows: no change is lost.
      if (gap === undefined)
        throw new UnavailableError("D1", new Error(`control version ${cv} announced, ${last} found`));
      if (gap.version > this.#version) this.#forgetAll(gap.version);
      return;
    }
    if (this.#version >= last) return;
    // If a number has no row, this isolate cannot read that change, so any copy may be outdated.
    if (changes.length < last - known) this.#forgetAll(last);
    else this.#apply(changes, last);
  }

  async #readUpTo(
    context: RequestContext<ControlBindings>,
    after: number,
    cv: number,
  ): Promise<readonly NamedChange[]> {
    const rows = await this.#reads.call(context, String(after), after);
    const isComplete = rows.length >= changesAtOnce || (rows.at(-1)?.version ?? after) >= cv;
    // The shared read may have begun before the change was committed.
    return isComplete ? rows : readChanges(context.env.DB, after);
  }

  /**
   * Everything in memory that carries no version of its own is discarded. A copy that has one may be used if the changes since then are known and
   * none of them names it.
   */
  #start(cv: number, named: readonly NamedChange[]): void {
    this.#forgetAll(cv);
    const first = named[0]?.version;
    if (first === undefined || named.at(-1)?.version !== cv || named.length !== cv - first + 1) return;
    this.#base = first - 1;
    this.#apply(named, cv, false);
  }

  /** `discards`: copies that the changes name are in memory. */
  #apply(changes: readonly NamedChange[], last: number, discards = true): void {
    for (const { kind, id, version, record } of changes.flatMap(changedRecords)) {
      const key = ownText(`${kind}:${id}`);
      if (!this.#lastChange.has(key)) this.#changeBytes += mapEntryBytes + stringBytes(key);
      if (this.#changeBytes > isolateMemory.controlChanges) {
        this.#forgetAll(last);
        return;
      }
      this.#lastChange.set(key, version);
      if (!discards) continue;
      // In the order of the changes, so that a later one discards what an earlier one carried.
      for (const forget of this.#forget.get(kind) ?? []) forget(id === everyId ? undefined : id, record);
    }
    this.#version = last;
  }

  #forgetAll(version: number): void {
    for (const forgets of this.#forget.values()) for (const forget of forgets) forget(undefined);
    this.#lastChange.clear();
    this.#changeBytes = 0;
    this.#base = version;
    this.#version = version;
  }
}

/** Whether a change names one of the records. */
export function namesAny(
  changes: readonly NamedChange[],
  records: readonly { readonly kind: ControlKind; readonly id: string }[],
): boolean {
  return changes
    .flatMap(changedRecords)
    .some((changed) => records.some(({ kind, id }) => changed.kind === kind && [id, everyId].includes(changed.id)));
}

/** The id of a cut-off's change is its key: `nb:sub:…`, `nb:client:…`, `nb:member:…`, `nb:org:…` or `nb:tenant:…`. */
export function changedRecords(change: NamedChange): readonly NamedChange[] {
  const { kind, id, version, record } = change;
  if (kind !== "cut-off") return [change];
  const [, of, ...rest] = id.split(":");
  if (of === "sub") return [{ kind: "user", id: rest.join(":"), version }];
  if (of === "member") return [{ kind: "membership", id: rest.join(":"), version }];
  if (of === "org") return [{ kind: "organization", id: rest.join(":"), version }];
  if (of === "client") return [{ kind: "client", id: rest.join(":"), version, record }];
  return [
    { kind: "user", id: everyId, version },
    { kind: "client", id: everyId, version },
  ];
}

async function readChanges(database: D1Database, after: number): Promise<NamedChange[]> {
  const query = "SELECT version, kind, id FROM control_changes WHERE version > ?1 ORDER BY version LIMIT ?2";
  const read = () => queryDatabase(() => database.prepare(query).bind(after, changesAtOnce).all<NamedChange>());
  // One slow read would delay every request that waits for this version.
  const { results } = await firstResult([read, read], limits.databaseAgainMs);
  return results;
}
