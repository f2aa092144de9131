import type { KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { objectStub, withoutTimeLimit } from "../storage/call-object.ts";
import { type Copy, readCache, writeCache } from "../storage/kv-cache.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import { type CarriedRecord, everyId } from "../storage/record-kinds.ts";
import { SharedCall } from "../storage/shared-call.ts";
import {
  hasActiveKey,
  type KeyManagerRpc,
  type KeySchedule,
  keyManagerName,
  keyTiming,
  signingKey,
} from "./key-schedule.ts";
import { readStoredSchedule, storedSchedules, type VersionedSchedule } from "./stored-schedule.ts";

export interface KeyScheduleBindings extends StorageBindings {
  readonly KEY_MANAGER: DurableObjectNamespace<KeyManagerRpc>;
}

interface Held {
  readonly schedule: KeySchedule;
  /** When D1 or KeyManager returned it, directly or through KV. */
  readonly loadedAtMs: number;
  /** The control version of a copy that was held before the isolate knew one. */
  readonly cv?: number;
}

/** The stamp of a schedule that came without a version, before the isolate knew one: the decision is made again. */
const unknownVersion = -1;
const copyKey = `keys:${everyId}`;
/** The minimum time between two calls of one isolate for a key that is missing. */
const wantIntervalMs = 1_000;
/** After a failed renewal, the copy is used for this long before the next attempt, so that a slow store does not delay requests. */
const retryMs = 10_000;

/**
 * **The isolate's copy of the key schedule**, read through memory, KV and D1 (docs/reference/protocols.md §4), and renewed in the background.
 * KeyManager, which writes the schedule, is called only for keys that are missing and for a schedule that D1 does not have. While neither responds,
 * the copy in memory or KV remains in use, because keys are scheduled weeks ahead. The copy always contains every change of keys that the isolate
 * knows; without such a copy, the response is 503.
 */
export class HeldSchedule {
  readonly #control: ControlView;
  readonly #onLoad: (schedule: KeySchedule) => void;
  /** Algorithms for which KeyManager creates keys if there are none. */
  readonly #wanted = new Set<KeyAlgorithm>();
  readonly #calls = new SharedCall<KeyScheduleBindings, boolean, KeySchedule>({
    name: "KeyManager",
    joinsCallInFlight: true,
    send: (context, signs) => this.#callKeyManager(context, signs),
  });
  /** Any request may use the copy: its control version shows which changes it may lack. */
  readonly #copies = new SharedCall<KeyScheduleBindings, undefined, Copy<KeySchedule> | undefined>({
    name: "KV",
    joinsCallInFlight: true,
    send: (context) => readCache<Copy<KeySchedule>>(context, copyKey),
  });
  /** After a change of keys, every request needs the schedule at the same moment; an isolate sends one call for all of them. */
  readonly #stored = new SharedCall<KeyScheduleBindings, undefined, Copy<KeySchedule> | undefined>({
    name: "D1",
    joinsCallInFlight: true,
    send: (context) => this.#readStored(context),
  });
  #held: Held | undefined;
  /** The copy that was read before the isolate knew a control version. */
  #unjudged: Copy<KeySchedule> | undefined;
  /** The requests that found none in KV then. */
  readonly #missing = new WeakSet<object>();
  /** Increased by every change of keys: a result requested before it must not be stored after it. */
  #epoch = 0;
  #renewNotBeforeMs = 0;
  #wantNotBeforeMs = 0;

  /** `onLoad` is called with each schedule that is stored. */
  constructor(control: ControlView, onLoad: (schedule: KeySchedule) => void = () => {}) {
    this.#control = control;
    this.#onLoad = onLoad;
    control.onChange("keys", (_, record) => {
      this.#held = this.#held && record && this.#carried(record);
      this.#epoch += 1;
      this.#renewNotBeforeMs = 0;
      this.#wantNotBeforeMs = 0;
    });
  }

  /** The schedule that a change carries, in place of the one that it discards. */
  #carried({ text }: CarriedRecord): Held | undefined {
    const schedule = JSON.parse(text) as KeySchedule | null;
    if (schedule === null) return undefined;
    this.#onLoad(schedule);
    return { schedule, loadedAtMs: nowMs() };
  }

  /** Reads the copy in KV, or else the one in D1, for an isolate that knows no control version. Never fails. */
  async readAhead(context: RequestContext<KeyScheduleBindings>): Promise<void> {
    if (this.#held !== undefined) return;
    const copy = await this.#findCopy(context).catch(() => undefined);
    if (copy === undefined && this.#control.version === undefined) await this.#findStored(context);
  }

  async current(context: RequestContext<KeyScheduleBindings>): Promise<KeySchedule> {
    const { reads } = context.progress;
    // Without a known version, the copy's own is noted, when it has been read.
    const isCold = this.#control.version === undefined;
    if (!isCold) reads?.note("keys", everyId);
    const held = this.#held;
    if (held === undefined) {
      const loaded = await this.#load(context);
      if (isCold) reads?.note("keys", everyId, loaded.cv ?? unknownVersion);
      return loaded.schedule;
    }
    if (isCold) reads?.note("keys", everyId, held.cv ?? unknownVersion);
    const atMs = context.arrivedAtMs;
    const ageMs = atMs - held.loadedAtMs;
    if (ageMs < keyTiming.isolateTtlMs / 2 || atMs < this.#renewNotBeforeMs) return held.schedule;
    this.#renewNotBeforeMs = atMs + retryMs;
    const renewal = this.#renew(context, held);
    if (ageMs >= keyTiming.isolateTtlMs) return renewal;
    context.waitUntil(renewal.catch((error: unknown) => warnUnavailable(context, "keys-not-renewed", error)));
    return held.schedule;
  }

  /**
   * The schedule with an active key of each algorithm, or with `signs` one that signs now: KeyManager creates those that are missing. If it
   * cannot, the schedule lacks them, and KeyManager is called again after a second at the earliest. Cost: 1 object call if a key is missing.
   */
  async currentWith(
    context: RequestContext<KeyScheduleBindings>,
    algorithms: readonly KeyAlgorithm[],
    signs = false,
  ): Promise<KeySchedule> {
    const schedule = await this.current(context);
    const atMs = context.arrivedAtMs;
    const has = (each: KeySchedule, alg: KeyAlgorithm) =>
      signs ? signingKey(each, alg, atMs) !== undefined : hasActiveKey(each, alg, atMs);
    const isComplete = (each: KeySchedule) => algorithms.every((alg) => has(each, alg));
    if (isComplete(schedule) || atMs < this.#wantNotBeforeMs) return schedule;
    for (const alg of algorithms) this.#wanted.add(alg);
    const made = await this.reload(context, signs);
    if (made === undefined || !isComplete(made)) this.#wantNotBeforeMs = atMs + wantIntervalMs;
    return made ?? schedule;
  }

  /** Calls KeyManager now; `undefined` if it does not respond. */
  async reload(context: RequestContext<KeyScheduleBindings>, signs = false): Promise<KeySchedule | undefined> {
    try {
      return (await this.#request(context, signs)).schedule;
    } catch (error) {
      warnUnavailable(context, "keys-not-reloaded", error);
      return undefined;
    }
  }

  /** The copy remains in use if nothing newer is available, unless a change of keys has meanwhile discarded it. */
  async #renew(context: RequestContext<KeyScheduleBindings>, held: Held): Promise<KeySchedule> {
    const epoch = this.#epoch;
    try {
      return (await this.#load(context)).schedule;
    } catch (error) {
      warnUnavailable(context, "keys-not-renewed", error);
      if (epoch !== this.#epoch) throw error;
      return held.schedule;
    }
  }

  async #load(context: RequestContext<KeyScheduleBindings>): Promise<Held> {
    const epoch = this.#epoch;
    const unjudged = this.#unjudged;
    const copy = await this.#findCopy(context);
    if (copy !== undefined && this.#includesKnownChanges(copy)) {
      if (context.arrivedAtMs - copy.readAtMs < keyTiming.kvCopyMs) return this.#hold(context, copy);
      // A decision judges the copy by the control version: it contains every change of keys, however old it is. It is renewed in the background.
      const isCold = this.#control.version === undefined || copy === unjudged;
      if (isCold && context.progress.reads !== undefined) return this.#hold(context, copy, keyTiming.isolateTtlMs / 2);
    }
    try {
      return (await this.#findStored(context)) ?? (await this.#request(context, false));
    } catch (error) {
      if (copy === undefined || epoch !== this.#epoch || !this.#includesKnownChanges(copy)) throw error;
      warnUnavailable(context, "keys-from-old-copy", error);
      return this.#hold(context, { value: copy.value });
    }
  }

  /** `undefined` if D1 does not respond, or has no schedule with every change of keys that the isolate knows. */
  async #findStored(context: RequestContext<KeyScheduleBindings>): Promise<Held | undefined> {
    const epoch = this.#epoch;
    const { version } = this.#control;
    try {
      const stored = await this.#stored.call(context, `${epoch} ${version}`, undefined);
      if (epoch !== this.#epoch) return await this.#findStored(context);
      if (version === undefined) this.#unjudged = stored;
      return stored && this.#hold(context, version === undefined ? stored : { value: stored.value });
    } catch (error) {
      warnUnavailable(context, "keys-not-reloaded", error);
      return undefined;
    }
  }

  async #readStored(context: RequestContext<KeyScheduleBindings>): Promise<Copy<KeySchedule> | undefined> {
    const { version } = this.#control;
    const stored = await readStoredSchedule(context.env.DB, version ?? 0);
    if (stored === undefined) return undefined;
    const copy: Copy<KeySchedule> = { ...stored, cv: version ?? stored.cv, readAtMs: context.arrivedAtMs };
    writeCache(context, copyKey, copy, storedSchedules.ttlSeconds);
    return copy;
  }

  /** The copy that was read before the first control version, if no change has named it since, or the one in KV. */
  async #findCopy(context: RequestContext<KeyScheduleBindings>): Promise<Copy<KeySchedule> | undefined> {
    const unjudged = this.#unjudged;
    // Judged once: a later renewal reads the copy that is in KV then.
    if (this.#control.version !== undefined) this.#unjudged = undefined;
    if (unjudged !== undefined && this.#includesKnownChanges(unjudged)) return unjudged;
    if (this.#missing.has(context)) return undefined;
    const copy = await this.#copies.call(context, String(this.#epoch), undefined);
    const isCold = this.#control.version === undefined;
    this.#unjudged = isCold ? copy : undefined;
    if (isCold && copy === undefined) this.#missing.add(context);
    return copy;
  }

  /** Returns only a result that was requested after the last change of keys known to this isolate. */
  async #request(context: RequestContext<KeyScheduleBindings>, signs: boolean): Promise<Held> {
    const epoch = this.#epoch;
    const schedule = await this.#calls.call(context, `${epoch} ${this.#wanted.size} ${signs}`, signs);
    return epoch === this.#epoch ? this.#hold(context, { value: schedule }) : this.#request(context, signs);
  }

  async #callKeyManager(context: RequestContext<KeyScheduleBindings>, signs: boolean): Promise<KeySchedule> {
    const cv = this.#control.version;
    const manager = objectStub(context.settings, context.env.KEY_MANAGER, keyManagerName);
    const schedule: KeySchedule = await withoutTimeLimit("KeyManager", () =>
      manager.schedule([...this.#wanted], signs),
    );
    if (cv !== undefined) {
      const copy: Copy<KeySchedule> = { cv, readAtMs: context.arrivedAtMs, value: schedule };
      writeCache(context, copyKey, copy, storedSchedules.ttlSeconds);
    }
    return schedule;
  }

  #hold(
    context: RequestContext<KeyScheduleBindings>,
    { value: schedule, cv }: Pick<VersionedSchedule, "value"> & Partial<VersionedSchedule>,
    ageMs = 0,
  ): Held {
    this.#held = { schedule, loadedAtMs: context.arrivedAtMs - ageMs, ...(cv !== undefined && { cv }) };
    this.#onLoad(schedule);
    return this.#held;
  }

  /** Before the first control version, changes are unknown; the copy is discarded when the version becomes known. */
  #includesKnownChanges(copy: Copy<KeySchedule>): boolean {
    return this.#control.version === undefined || this.#control.isCurrent("keys", everyId, copy.cv);
  }
}

/** Logs an {@link UnavailableError} and continues; rethrows anything else, which is a bug. */
function warnUnavailable(
  { requestId }: RequestContext<KeyScheduleBindings>,
  event: "keys-not-renewed" | "keys-not-reloaded" | "keys-from-old-copy",
  error: unknown,
): void {
  if (!(error instanceof UnavailableError)) throw error;
  log(event, { cause: String(error.cause), requestId });
}
