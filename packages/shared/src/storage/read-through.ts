import { isolateMemory } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { type CacheBindings, type Copy, readCache, writeCache } from "./kv-cache.ts";
import { queryDatabase } from "./query-database.ts";
import { type CarriedRecord, everyId, loadStamped, type RecordVersions, type StoredKind } from "./record-kinds.ts";
import { SharedCall } from "./shared-call.ts";

export interface StorageBindings extends CacheBindings {
  readonly DB: D1Database;
}

/** Ids are at most 255 characters (OIDC Core §2) of printable ASCII (RFC 6749 Appendix A.1); a key of KV has at most 512 bytes. */
const idPattern = /^[\x20-\x7e]{1,255}$/;

/** The number of requests that may share one look-up. */
const sharersAtOnce = 10_000;

/** A copy in memory. */
interface Held<Value> {
  readonly value: Value;
  /** The control version of a copy that no known version has judged: the isolate did not know one. */
  readonly cv?: number;
}

/** A record, or its absence, and the control version up to which it contains every change. */
interface Read<Value> {
  readonly value: Value | undefined;
  readonly stamp: number | undefined;
}

interface Found<Value> extends Read<Value> {
  /** The request that performed the look-up; it may have arrived before the request that reads this. */
  readonly by: object;
}

export interface ReadThroughOptions<Value, Stored = Value> extends StoredKind<Stored> {
  /** How long absence is cached; only for records whose creation is a control change. */
  readonly absentSeconds?: number;
  /** Whether the absence of this id is not cached, because its creation is not a control change. */
  readonly mayAppear?: (id: string) => boolean;
  /** The maximum size of all copies in memory (`isolateMemory`). */
  readonly maxBytes: number;
  /** The maximum size of the ids that were not found. */
  readonly presenceBytes?: number;
  /** Whether a copy that no known version has judged may be used outside of a decision, which would judge it. */
  readonly usesUnjudged?: boolean;
  /** Bytes that an isolate attaches to a copy in memory. */
  readonly attachedBytes?: (value: Value) => number;
  /** Takes what memory holds out of what KV and D1 return, at the control version `cv`. */
  unpack(stored: Stored, cv: number): Value;
}

/**
 * **Reads one kind of record through memory, KV and the authority (D1).** Copies in memory and KV carry the control version that was known before
 * they were read; a copy that a later change names is not used. An isolate that knows no version yet uses copies by their own versions, which its
 * decision notes, and judges them with the first response of a shard (ADR 12). Absence is cached only in memory, and only for records whose creation
 * is a control change. A KV failure is a miss; a failure of the authority is unavailability. Concurrent look-ups of one record are shared.
 */
export class ReadThrough<Value, Env extends StorageBindings = StorageBindings, Stored = Value> {
  readonly #memory: IsolateCache<Held<Value>>;
  readonly #control: RecordVersions;
  readonly #options: ReadThroughOptions<Value, Stored>;
  /** Keyed by control version and id: a record read at one version is valid for every request that knows the same version. */
  readonly #lookUps = new SharedCall<Env, string, Found<Value>>({
    name: "D1",
    joinsCallInFlight: true,
    send: async (context, id) => ({ ...(await this.#lookUp(context, id)), by: context }),
  });
  /** Look-ups that began after each of their requests arrived. Only these prove that a record does not exist. */
  readonly #freshLookUps = new SharedCall<Env, string, Read<Value>>({
    name: "D1",
    maxBatch: sharersAtOnce,
    send: async (context, [id]) => [await this.#lookUp(context, id!)],
  });
  /** A copy is judged when it is used, so any request may use it. */
  readonly #copies = new SharedCall<Env, string, Copy<Stored> | undefined>({
    name: "KV",
    joinsCallInFlight: true,
    send: (context, id) => readCache<Copy<Stored>>(context, `${this.#options.kind}:${id}`),
  });

  /** Whether the authority had a record for ids that were not found, or whose credential did not match. */
  readonly #presence: IsolateCache<Held<"absent" | "present">>;
  /** The store that the look-up of a request reached. */
  readonly #lookedUp = new WeakMap<object, "copy" | "authority">();
  /** The ids that a request has read ahead and that KV did not have. */
  readonly #missing = new WeakMap<object, Set<string>>();

  /** Memory holds all of what KV and D1 return. */
  static ofWhole<Value, Env extends StorageBindings = StorageBindings>(
    control: RecordVersions,
    options: Omit<ReadThroughOptions<Value>, "unpack">,
  ): ReadThrough<Value, Env> {
    return new ReadThrough(control, { ...options, unpack: (stored) => stored });
  }

  constructor(control: RecordVersions, options: ReadThroughOptions<Value, Stored>) {
    const { attachedBytes, maxBytes, presenceBytes = isolateMemory.presence } = options;
    this.#control = control;
    this.#options = options;
    this.#memory = new IsolateCache({
      maxBytes,
      ...(attachedBytes && { attachedBytes: ({ value }: Held<Value>) => attachedBytes(value) }),
    });
    this.#presence = new IsolateCache({ maxBytes: presenceBytes });
    control.onChange(options.kind, (id, record) => {
      // A copy that was read before the first version carries a version of its own.
      if (control.version === undefined) return;
      const isHeld = record !== undefined && this.#holds(id ?? everyId);
      for (const cache of [this.#memory, this.#presence]) {
        if (id === undefined) cache.clear();
        else cache.delete(id);
      }
      if (isHeld) this.#replace(id ?? everyId, record);
    });
  }

  #holds(id: string): boolean {
    const atMs = nowMs();
    return this.#memory.get(id, atMs) !== undefined || this.#presence.get(id, atMs) !== undefined;
  }

  /** Holds the record that a change carries in place of the copy that it discards. A record that is not in use here is not held. */
  #replace(id: string, { cv, text }: CarriedRecord): void {
    const stored = JSON.parse(text) as Stored | null;
    if (stored === null) this.#rememberPresence(id, "absent", cv);
    else this.#remember(id, this.#options.unpack(stored, cv), cv);
  }

  get heldBytes(): number {
    return this.#memory.bytes + this.#presence.bytes;
  }

  async find(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    // Ids come from callers, so an impossible id costs no look-up and no log line.
    if (!idPattern.test(id)) return undefined;
    const { kind } = this.#options;
    const { reads } = context.progress;
    const { version } = this.#control;
    if (version !== undefined) {
      reads?.note(kind, id);
      const held = this.#held(this.#memory, id, context.arrivedAtMs);
      if (held !== undefined) return held.value;
      if (this.#held(this.#presence, id, context.arrivedAtMs)?.value === "absent") return undefined;
    }
    // Only a decision judges what it has read.
    if (version === undefined && reads === undefined && this.#options.usesUnjudged !== true) {
      return (await this.#load(context, id)).value;
    }
    const { value, by, stamp } = await this.#lookUps.call(context, `${version} ${id}`, id);
    // The record may have been created between another request's look-up and this request: creation does not always change the
    // version.
    const read =
      value === undefined && by !== context ? await this.#freshLookUps.call(context, id, id) : { value, stamp };
    if (version === undefined) reads?.note(kind, id, read.stamp);
    return read.value;
  }

  /**
   * Reads the copy in KV for an isolate that knows no control version, by an id that nothing has verified. A decision that needs the record finds the
   * copy, and judges it. Never fails, and reads nothing but KV, unless the id is `isVerified`: it came in text that this provider has sealed.
   */
  async readAhead(context: RequestContext<Env>, id: string, isVerified = false): Promise<void> {
    if (!idPattern.test(id) || this.#control.version !== undefined) return;
    if (isVerified) {
      await this.#lookUps.call(context, `${this.#control.version} ${id}`, id).catch(() => undefined);
      return;
    }
    if (this.#memory.get(id, context.arrivedAtMs) !== undefined) return;
    this.#lookedUp.set(context, "copy");
    const copy = await this.#copies.call(context, id, id).catch(() => undefined);
    if (copy !== undefined) this.#use(id, copy);
    else this.#missing.set(context, (this.#missing.get(context) ?? new Set()).add(id));
  }

  /** Takes a record, or its absence, that was read with another record at the control version `cv`. */
  offer(id: string, value: Value | undefined, cv: number): void {
    const atMs = nowMs();
    if (this.#held(this.#memory, id, atMs) !== undefined || this.#held(this.#presence, id, atMs) !== undefined) return;
    if (value === undefined) this.#rememberPresence(id, "absent", cv);
    else this.#remember(id, value, cv);
  }

  /** Reads from the authority even if a copy exists. Cost: that of a miss. */
  async reload(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    await readCache<Copy<Stored>>(context, `${this.#options.kind}:${id}`);
    return (await this.#load(context, id)).value;
  }

  /** A copy in memory, as {@link find} would return it without a call. */
  peek(context: RequestContext<Env>, id: string): Value | undefined {
    return this.#held(this.#memory, id, context.arrivedAtMs)?.value;
  }

  /** Whether {@link find} would cost no call. */
  isHeld(context: RequestContext<Env>, id: string): boolean {
    if (!idPattern.test(id)) return true;
    if (this.#control.version === undefined) return false;
    if (this.#held(this.#memory, id, context.arrivedAtMs) !== undefined) return true;
    return this.#held(this.#presence, id, context.arrivedAtMs)?.value === "absent";
  }

  /**
   * The record of the authority, for a credential that does not match the result of {@link find}. The first failed attempt for an id costs one KV and
   * one D1 read, whether or not the record exists. Further attempts are free until the record changes or `absentSeconds` have passed.
   */
  async recheck(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    if (!idPattern.test(id)) return undefined;
    const { version } = this.#control;
    const held = this.#held(this.#memory, id, context.arrivedAtMs)?.value;
    const presence = this.#held(this.#presence, id, context.arrivedAtMs)?.value;
    if (presence === "absent" || (presence === "present" && held !== undefined)) return held;
    const reached = this.#lookedUp.get(context);
    if (reached === undefined) await readCache<Copy<Stored>>(context, `${this.#options.kind}:${id}`);
    if (reached === "authority") {
      if (held !== undefined) this.#rememberPresence(id, "present", version);
      return held;
    }
    const { value, stamp } = await this.#load(context, id, false);
    if (value !== undefined) this.#rememberPresence(id, "present", stamp);
    return value;
  }

  async #lookUp(context: RequestContext<Env>, id: string): Promise<Read<Value>> {
    // Another request has loaded it while this one waited, or this one has read it ahead.
    const held = this.#held(this.#memory, id, nowMs());
    if (held !== undefined) return { value: held.value, stamp: held.cv ?? this.#control.version };
    const absent = this.#held(this.#presence, id, nowMs());
    if (absent?.value === "absent" && absent.cv !== undefined) return { value: undefined, stamp: absent.cv };
    this.#lookedUp.set(context, "copy");
    const isMissing = context.progress.missedCopy === true || this.#missing.get(context)?.has(id) === true;
    if (!isMissing) {
      const copy = await this.#copies.call(context, id, id);
      const used = copy && this.#use(id, copy);
      if (used !== undefined) return { value: used, stamp: copy!.cv };
    }
    context.progress.missedCopy = true;
    return this.#load(context, id);
  }

  /** The value of a copy that is current, or that no known version can judge. */
  #use(id: string, { value: stored, cv }: Copy<Stored>): Value | undefined {
    if (this.#control.version !== undefined && !this.#control.isCurrent(this.#options.kind, id, cv)) return undefined;
    const value = this.#options.unpack(stored, cv);
    this.#remember(id, value, cv);
    return value;
  }

  async #load(context: RequestContext<Env>, id: string, writesCopy = true): Promise<Read<Value>> {
    const { kind, query, ttlSeconds } = this.#options;
    this.#lookedUp.set(context, "authority");
    const { stored, cv } = await queryDatabase(() => loadStamped(context.env.DB, query, id, this.#control.version));
    if (stored === undefined) {
      this.#rememberPresence(id, "absent", cv);
      return { value: undefined, stamp: cv };
    }
    const value = this.#options.unpack(stored, cv);
    this.#remember(id, value, cv);
    if (writesCopy) {
      const fresh: Copy<Stored> = { cv, readAtMs: context.arrivedAtMs, value: stored };
      writeCache(context, `${kind}:${id}`, fresh, ttlSeconds);
    }
    return { value, stamp: cv };
  }

  #rememberPresence(id: string, presence: "absent" | "present", readAt: number | undefined): void {
    const { absentSeconds, mayAppear } = this.#options;
    if (presence === "absent" && mayAppear?.(id) === true) return;
    if (absentSeconds === undefined || readAt === undefined) return;
    this.#hold(this.#presence, id, presence, { readAt, ttlSeconds: absentSeconds });
  }

  #remember(id: string, value: Value, readAt: number): void {
    this.#hold(this.#memory, id, value, { readAt, ttlSeconds: this.#options.ttlSeconds });
  }

  #hold<Kept>(
    cache: IsolateCache<Held<Kept>>,
    id: string,
    value: Kept,
    { readAt, ttlSeconds }: { readonly readAt: number; readonly ttlSeconds: number },
  ): void {
    const isJudged = this.#control.version !== undefined;
    if (isJudged && !this.#control.isCurrent(this.#options.kind, id, readAt)) return;
    cache.set(id, isJudged ? { value } : { value, cv: readAt }, nowMs() + ttlSeconds * 1000);
  }

  /** The entry of a cache, unless a change that has become known names it. */
  #held<Kept>(cache: IsolateCache<Held<Kept>>, id: string, atMs: number): Held<Kept> | undefined {
    const held = cache.get(id, atMs);
    if (held?.cv === undefined || this.#control.version === undefined) return held;
    // A change that became known after the first version has discarded the copy, so this answer stays the same.
    if (this.#control.isCurrent(this.#options.kind, id, held.cv)) return held;
    cache.delete(id);
    return undefined;
  }
}
