import { isolateMemory } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { type CacheBindings, readCache, writeCache } from "./kv-cache.ts";
import { queryDatabase } from "./query-database.ts";
import type { ControlKind, RecordVersions } from "./record-kinds.ts";
import { SharedCall } from "./shared-call.ts";

export interface StorageBindings extends CacheBindings {
  readonly DB: D1Database;
}

/** Ids are at most 255 characters (OIDC Core §2) of printable ASCII (RFC 6749 Appendix A.1); a key of KV has at most 512 bytes. */
const idPattern = /^[\x20-\x7e]{1,255}$/;

/** The number of requests that may share one look-up. */
const sharersAtOnce = 10_000;

interface Copy<Value> {
  readonly cv: number;
  readonly value: Value;
}

interface Found<Value> {
  readonly value: Value | undefined;
  /** The request that performed the look-up; it may have arrived before the request that reads this. */
  readonly by: object;
}

export interface ReadThroughOptions<Value, Env extends StorageBindings> {
  readonly kind: ControlKind;
  readonly ttlSeconds: number;
  /** How long absence is cached; only for records whose creation is a control change. */
  readonly absentSeconds?: number;
  /** Whether the absence of this id is not cached, because its creation is not a control change. */
  readonly mayAppear?: (id: string) => boolean;
  /** The maximum size of all copies in memory (`isolateMemory`). */
  readonly maxBytes: number;
  /** The maximum size of the ids that were not found. */
  readonly presenceBytes?: number;
  /** Whether a copy in KV may be used before the isolate knows a control version, although a change may name it. */
  readonly usesUnconfirmed?: boolean;
  /** Bytes that an isolate attaches to a copy in memory. */
  readonly attachedBytes?: (value: Value) => number;
  /** Reads the authority, D1. */
  load(context: RequestContext<Env>, id: string): Promise<Value | undefined>;
}

/**
 * **Reads one kind of record through memory, KV and the authority (D1).** Copies in memory and KV carry the control version that was known before
 * they were read; a copy that a later change names is not used. Absence is cached only in memory, and only for records whose creation is a control
 * change (ADR 12). A KV failure is a miss; a failure of the authority is unavailability. Concurrent look-ups of one record in an isolate are shared.
 */
export class ReadThrough<Value, Env extends StorageBindings = StorageBindings> {
  readonly #memory: IsolateCache<Value>;
  readonly #control: RecordVersions;
  readonly #options: ReadThroughOptions<Value, Env>;
  /** Keyed by control version and id: a record read at one version is valid for every request that knows the same version. */
  readonly #lookUps = new SharedCall<Env, string, Found<Value>>({
    name: "D1",
    joinsCallInFlight: true,
    send: async (context, id) => ({ value: await this.#lookUp(context, id), by: context }),
  });
  /** Look-ups that began after each of their requests arrived. Only these prove that a record does not exist. */
  readonly #freshLookUps = new SharedCall<Env, string, Value | undefined>({
    name: "D1",
    maxBatch: sharersAtOnce,
    send: async (context, [id]) => [await this.#lookUp(context, id!)],
  });

  /** Whether the authority had a record for ids that were not found, or whose credential did not match. */
  readonly #presence: IsolateCache<"absent" | "present">;
  /** The store that the look-up of a request reached. */
  readonly #lookedUp = new WeakMap<object, "copy" | "authority">();

  constructor(control: RecordVersions, options: ReadThroughOptions<Value, Env>) {
    this.#control = control;
    this.#options = options;
    this.#memory = new IsolateCache(options);
    this.#presence = new IsolateCache({ maxBytes: options.presenceBytes ?? isolateMemory.presence });
    control.onChange(options.kind, (id) => {
      for (const cache of [this.#memory, this.#presence]) {
        if (id === undefined) cache.clear();
        else cache.delete(id);
      }
    });
  }

  get heldBytes(): number {
    return this.#memory.bytes + this.#presence.bytes;
  }

  async find(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    // Ids come from callers, so an impossible id costs no look-up and no log line.
    if (!idPattern.test(id)) return undefined;
    context.progress.reads?.note(this.#options.kind, id);
    const held = this.#memory.get(id, context.arrivedAtMs);
    if (held !== undefined) return held;
    if (this.#presence.get(id, context.arrivedAtMs) === "absent") return undefined;
    const { value, by } = await this.#lookUps.call(context, `${this.#control.version} ${id}`, id);
    // The record may have been created between another request's look-up and this request: creation does not always change the
    // version.
    return value === undefined && by !== context ? this.#freshLookUps.call(context, id, id) : value;
  }

  /** Reads from the authority even if a copy exists. Cost: that of a miss. */
  async reload(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    await readCache<Copy<Value>>(context, `${this.#options.kind}:${id}`);
    return this.#load(context, id);
  }

  /** Whether {@link find} would cost no call. */
  isHeld(context: RequestContext<Env>, id: string): boolean {
    if (!idPattern.test(id) || this.#memory.get(id, context.arrivedAtMs) !== undefined) return true;
    return this.#presence.get(id, context.arrivedAtMs) === "absent";
  }

  /**
   * The record of the authority, for a credential that does not match the result of {@link find}. The first failed attempt for an id costs one KV and
   * one D1 read, whether or not the record exists. Further attempts are free until the record changes or `absentSeconds` have passed.
   */
  async recheck(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    if (!idPattern.test(id)) return undefined;
    const held = this.#memory.get(id, context.arrivedAtMs);
    const presence = this.#presence.get(id, context.arrivedAtMs);
    if (presence === "absent" || (presence === "present" && held !== undefined)) return held;
    const readAt = this.#control.version;
    const reached = this.#lookedUp.get(context);
    if (reached === undefined) await readCache<Copy<Value>>(context, `${this.#options.kind}:${id}`);
    const value = reached === "authority" ? held : await this.#load(context, id, false);
    if (value !== undefined) this.#rememberPresence(id, "present", readAt);
    return value;
  }

  async #lookUp(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    const { kind, usesUnconfirmed = false } = this.#options;
    // Another request has loaded it while this one waited.
    const held = this.#memory.get(id, nowMs());
    if (held !== undefined) return held;
    const readAt = this.#control.version;
    this.#lookedUp.set(context, "copy");
    const copy = await readCache<Copy<Value>>(context, `${kind}:${id}`);
    if (copy !== undefined && readAt === undefined && usesUnconfirmed) {
      // Discarded with the first control version.
      this.#remember(id, copy.value, undefined);
      return copy.value;
    }
    const isCurrent = copy !== undefined && readAt !== undefined && this.#control.isCurrent(kind, id, copy.cv);
    if (isCurrent) {
      this.#remember(id, copy.value, copy.cv);
      return copy.value;
    }
    return this.#load(context, id);
  }

  async #load(context: RequestContext<Env>, id: string, writesCopy = true): Promise<Value | undefined> {
    const { kind, ttlSeconds, load } = this.#options;
    const readAt = this.#control.version;
    this.#lookedUp.set(context, "authority");
    const value = await queryDatabase(() => load(context, id));
    if (value === undefined) {
      this.#rememberPresence(id, "absent", readAt);
      return undefined;
    }
    this.#remember(id, value, readAt);
    if (readAt !== undefined && writesCopy) {
      const fresh: Copy<Value> = { cv: readAt, value };
      writeCache(context, `${kind}:${id}`, fresh, ttlSeconds);
    }
    return value;
  }

  #rememberPresence(id: string, presence: "absent" | "present", readAt: number | undefined): void {
    const { kind, absentSeconds, mayAppear } = this.#options;
    if (presence === "absent" && mayAppear?.(id) === true) return;
    // A cold isolate does not yet know the control version of its read.
    if (absentSeconds === undefined || readAt === undefined || !this.#control.isCurrent(kind, id, readAt)) return;
    this.#presence.set(id, presence, nowMs() + absentSeconds * 1000);
  }

  #remember(id: string, value: Value, readAt: number | undefined): void {
    if (!this.#control.isCurrent(this.#options.kind, id, readAt)) return;
    this.#memory.set(id, value, nowMs() + this.#options.ttlSeconds * 1000);
  }
}
