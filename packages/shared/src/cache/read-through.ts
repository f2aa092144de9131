import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { askDatabase } from "./ask-database.ts";
import type { ControlKind, ControlView } from "./control-view.ts";

/**
 * **Memory → KV → authority**, for one kind of record. Memory and KV hold copies tagged with the control version known
 * before they were read; a copy that a later change names is not used. Absence is not cached: a record that is created is
 * found at once. A KV failure is a miss; an authority failure is unavailability.
 */
export interface StorageBindings {
  readonly DB: D1Database;
  readonly CACHE: KVNamespace;
}

/** Ids are printable ASCII (RFC 6749 Appendix A.1) of 255 characters at most (OIDC Core §2); a key of KV has 512 bytes. */
const idPattern = /^[\x20-\x7e]{1,255}$/;

interface Copy<Value> {
  readonly cv: number;
  readonly value: Value;
}

export interface ReadThroughOptions<Value, Env extends StorageBindings> {
  readonly kind: ControlKind;
  readonly ttlSeconds: number;
  /** The authority: D1. */
  load(context: RequestContext<Env>, id: string): Promise<Value | undefined>;
}

export class ReadThrough<Value, Env extends StorageBindings = StorageBindings> {
  readonly #memory = new IsolateCache<Value>(limits.isolateCacheEntries);
  readonly #control: ControlView;
  readonly #options: ReadThroughOptions<Value, Env>;

  constructor(control: ControlView, options: ReadThroughOptions<Value, Env>) {
    this.#control = control;
    this.#options = options;
    control.onChange(options.kind, (id) => (id === undefined ? this.#memory.clear() : this.#memory.delete(id)));
  }

  async find(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    const { kind } = this.#options;
    // Callers make up ids: what cannot be one costs no look-up, and no line in the log.
    if (!idPattern.test(id)) return undefined;
    const held = this.#memory.get(id, context.arrivedAtMs);
    if (held !== undefined) return held;

    const readAt = this.#control.version;
    const copy = await readCopy<Value>(context, `${kind}:${id}`);
    if (copy !== undefined && readAt !== undefined && this.#control.isCurrent(kind, id, copy.cv)) {
      this.#remember(id, copy.value, copy.cv);
      return copy.value;
    }
    return this.#load(context, id);
  }

  /** Reads from the authority whatever is held, at the cost of a miss. */
  async reload(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    await readCopy<Value>(context, `${this.#options.kind}:${id}`);
    return this.#load(context, id);
  }

  async #load(context: RequestContext<Env>, id: string): Promise<Value | undefined> {
    const { kind, ttlSeconds, load } = this.#options;
    const readAt = this.#control.version;
    const value = await askDatabase(() => load(context, id));
    if (value === undefined) return undefined;
    this.#remember(id, value, readAt);
    if (readAt !== undefined) {
      const fresh: Copy<Value> = { cv: readAt, value };
      context.waitUntil(writeCopy(context, `${kind}:${id}`, fresh, ttlSeconds));
    }
    return value;
  }

  #remember(id: string, value: Value, readAt: number | undefined): void {
    if (!this.#control.isCurrent(this.#options.kind, id, readAt)) return;
    this.#memory.set(id, value, nowMs() + this.#options.ttlSeconds * 1000);
  }
}

async function readCopy<Value>(
  context: RequestContext<StorageBindings>,
  key: string,
): Promise<Copy<Value> | undefined> {
  try {
    return (await context.env.CACHE.get<Copy<Value>>(key, "json")) ?? undefined;
  } catch (cause) {
    console.warn(JSON.stringify({ event: "kv-read-failed", key, cause: String(cause), requestId: context.requestId }));
    return undefined;
  }
}

async function writeCopy(
  context: RequestContext<StorageBindings>,
  key: string,
  copy: Copy<unknown>,
  ttlSeconds: number,
): Promise<void> {
  try {
    await context.env.CACHE.put(key, JSON.stringify(copy), { expirationTtl: ttlSeconds });
  } catch (cause) {
    console.warn(JSON.stringify({ event: "kv-write-failed", key, cause: String(cause), requestId: context.requestId }));
  }
}
