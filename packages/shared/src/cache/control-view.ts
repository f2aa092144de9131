import { isolateMemory, limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { firstResult } from "../runtime/first-result.ts";
import { mapEntryBytes, ownText, stringBytes } from "../runtime/heap-bytes.ts";
import { leaveGap } from "./change-gap.ts";
import { queryDatabase } from "./query-database.ts";

/**
 * **Which administrative changes this isolate knows of.** Each change (client, user, roles, keys, generations) is one row
 * of D1's `control_changes`; its number is the control version `cv`, which every revocation shard repeats in every reply.
 * A reply with a newer `cv` than ours means: read the rows in between, forget what they name, only then go on.
 *
 * A change is committed to D1 before its `cv` is raised anywhere, so "read while knowing cv = n" includes changes 1…n.
 * That is how cached records are trusted: each carries the `cv` known before it was read. Rows have consecutive numbers,
 * but the oldest are deleted in the end, and a D1 that was set back leaves a gap (ADR 11): who finds one missing forgets everything.
 */
export type ControlKind = "client" | "user" | "rbac" | "keys" | "generations";

export interface ControlBindings {
  readonly DB: D1Database;
}

/** More changes than this at once: forget everything instead of reading them one by one. */
const changesAtOnce = 500;

/** The id of a change that concerns every record of its kind (a role's permissions, a group's roles). */
export const everyId = "*";

type Forget = (id: string | undefined) => void;

export class ControlView {
  #version: number | undefined;
  /** Before this version nothing is known of which records changed: KV copies older than it are not trusted. */
  #base = 0;
  readonly #lastChange = new Map<string, number>();
  /** Of `#lastChange`, estimated. */
  #changeBytes = 0;
  readonly #forget = new Map<ControlKind, Forget[]>();

  /** The newest control version this isolate has acted on; `undefined` before the first shard reply. */
  get version(): number | undefined {
    return this.#version;
  }

  get heldBytes(): number {
    return this.#changeBytes;
  }

  /** Registers a cache: `forget(id)` drops one record, `forget(undefined)` all. */
  onChange(kind: ControlKind, forget: Forget): void {
    this.#forget.set(kind, [...(this.#forget.get(kind) ?? []), forget]);
  }

  /** Whether a copy of a record read at version `readAt` may still be used. */
  isCurrent(kind: ControlKind, id: string, readAt: number | undefined): boolean {
    if (this.#version === undefined || readAt === undefined) return readAt === this.#version;
    if (readAt < this.#base || readAt < (this.#lastChange.get(`${kind}:${everyId}`) ?? 0)) return false;
    return readAt >= (this.#lastChange.get(`${kind}:${id}`) ?? 0);
  }

  /**
   * Takes note of a shard's `cv`; resolves when everything up to it is acted on. Costs one D1 read when it is new.
   * Concurrent requests may each read: they must not await one another's I/O, and a change is rare.
   */
  async observe(
    context: RequestContext<ControlBindings>,
    cv: number,
    named: readonly ControlChange[] = [],
  ): Promise<void> {
    if (this.#version === undefined) {
      // Nothing is cached under a version yet; what was read before this moment cannot be placed, so it goes.
      this.#forgetAll(cv);
      return;
    }
    if (cv <= this.#version) return;
    const known = this.#version;
    const news = named.filter(({ version }) => version > known);
    if (news[0]?.version === known + 1 && news.at(-1)?.version === cv && news.length === cv - known) {
      this.#apply(news, cv);
      return;
    }
    const changes = await readChanges(context.env.DB, known);
    if (changes.length >= changesAtOnce) {
      // Too many to read: what was announced is committed, and nothing read before is kept.
      if (cv > this.#version) this.#forgetAll(cv);
      return;
    }
    const last = changes.at(-1)?.version ?? known;
    if (last < cv) {
      const { DB } = context.env;
      const gap = await leaveGap(DB, { told: cv, found: last, unlessFound: true });
      // A read that lags: nothing is lost.
      if (gap === undefined)
        throw new UnavailableError("D1", new Error(`control version ${cv} announced, ${last} found`));
      if (gap.version > this.#version) this.#forgetAll(gap.version);
      return;
    }
    if (this.#version >= last) return;
    // A number without a row: a change that we never read is gone, and whatever is held may be what it named.
    if (changes.length < last - known) this.#forgetAll(last);
    else this.#apply(changes, last);
  }

  #apply(changes: readonly ControlChange[], last: number): void {
    for (const { kind, id, version } of changes) {
      const key = ownText(`${kind}:${id}`);
      if (!this.#lastChange.has(key)) this.#changeBytes += mapEntryBytes + stringBytes(key);
      if (this.#changeBytes > isolateMemory.controlChanges) {
        this.#forgetAll(last);
        return;
      }
      this.#lastChange.set(key, version);
      for (const forget of this.#forget.get(kind) ?? []) forget(id === everyId ? undefined : id);
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

export interface ControlChange {
  readonly version: number;
  readonly kind: ControlKind;
  readonly id: string;
}

async function readChanges(database: D1Database, after: number): Promise<ControlChange[]> {
  const query = "SELECT version, kind, id FROM control_changes WHERE version > ?1 ORDER BY version LIMIT ?2";
  const read = () => queryDatabase(() => database.prepare(query).bind(after, changesAtOnce).all<ControlChange>());
  // One slow read would hold up every request that waits for this version.
  const { results } = await firstResult([read, read], limits.databaseAgainMs);
  return results;
}
