import type { KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { ControlView } from "../control/control-view.ts";
import type { RequestContext } from "../http/request-context.ts";
import { log } from "../runtime/log.ts";
import { objectStub, withoutTimeLimit } from "../storage/call-object.ts";
import { readCache, writeCache } from "../storage/kv-cache.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import { everyId } from "../storage/record-kinds.ts";
import { SharedCall } from "../storage/shared-call.ts";
import { type KeyManagerRpc, keyManagerName } from "./key-manager-rpc.ts";
import { hasActiveKey, type KeySchedule, signingKey } from "./key-schedule.ts";
import { keyTiming } from "./key-timing.ts";
import { readStoredSchedule } from "./stored-schedule.ts";

export interface KeyScheduleBindings extends StorageBindings {
  readonly KEY_MANAGER: DurableObjectNamespace<KeyManagerRpc>;
}

/** The KV value: the schedule, the control version known before it was read from KeyManager, and the time of the read. */
interface ScheduleCopy {
  readonly cv: number;
  readonly readAtMs: number;
  readonly schedule: KeySchedule;
}

interface Held {
  readonly schedule: KeySchedule;
  /** When KeyManager returned it, directly or through KV. */
  readonly loadedAtMs: number;
}

const copyKey = "keys:schedule";
const copyLifeSeconds = 30 * 86_400;
/** The minimum time between two calls of one isolate for a key that is missing. */
const wantIntervalMs = 1_000;
/** After a failed renewal, the copy is used for this long before the next attempt, so that a slow KeyManager does not delay requests. */
const retryMs = 10_000;

/**
 * **The isolate's copy of the key schedule**, read through memory, KV and KeyManager (docs/reference/protocols.md §4). Renewed in the background.
 * While KeyManager does not respond, the copy in memory, KV or D1 remains in use, because keys are scheduled weeks ahead. The copy always contains
 * every change of keys that the isolate knows; without such a copy, the response is 503.
 */
export class HeldSchedule {
  readonly #control: ControlView;
  readonly #onLoad: (schedule: KeySchedule) => void;
  /** Algorithms for which KeyManager creates keys if there are none. */
  readonly #wanted = new Set<KeyAlgorithm>();
  /** After a change of keys, every request needs the schedule at the same moment; an isolate sends one call for all of them. */
  readonly #calls = new SharedCall<KeyScheduleBindings, boolean, KeySchedule>({
    name: "KeyManager",
    joinsCallInFlight: true,
    send: (context, signs) => this.#callKeyManager(context, signs),
  });
  /** Any request may use the copy: its control version shows which changes it may lack. */
  readonly #copies = new SharedCall<KeyScheduleBindings, undefined, ScheduleCopy | undefined>({
    name: "KV",
    joinsCallInFlight: true,
    send: (context) => readCache<ScheduleCopy>(context, copyKey),
  });
  readonly #stored = new SharedCall<KeyScheduleBindings, undefined, KeySchedule | undefined>({
    name: "D1",
    joinsCallInFlight: true,
    send: (context) => readStoredSchedule(context.env.DB, this.#control.version ?? 0),
  });
  #held: Held | undefined;
  /** Increased by every change of keys: a result requested before it must not be stored after it. */
  #epoch = 0;
  #renewNotBeforeMs = 0;
  #wantNotBeforeMs = 0;

  /** `onLoad` is called with each schedule that is stored. */
  constructor(control: ControlView, onLoad: (schedule: KeySchedule) => void = () => {}) {
    this.#control = control;
    this.#onLoad = onLoad;
    control.onChange("keys", () => {
      this.#held = undefined;
      this.#epoch += 1;
      this.#renewNotBeforeMs = 0;
      this.#wantNotBeforeMs = 0;
    });
  }

  async current(context: RequestContext<KeyScheduleBindings>): Promise<KeySchedule> {
    context.progress.reads?.note("keys", everyId);
    const held = this.#held;
    if (held === undefined) return this.#load(context);
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
      return await this.#request(context, signs);
    } catch (error) {
      warnUnavailable(context, "keys-not-reloaded", error);
      return undefined;
    }
  }

  /** The copy remains in use if nothing newer is available, unless a change of keys has meanwhile discarded it. */
  async #renew(context: RequestContext<KeyScheduleBindings>, held: Held): Promise<KeySchedule> {
    const epoch = this.#epoch;
    try {
      return await this.#load(context, true);
    } catch (error) {
      warnUnavailable(context, "keys-not-renewed", error);
      if (epoch !== this.#epoch) throw error;
      return held.schedule;
    }
  }

  /** A renewal does not read D1: it has the copy in memory. */
  async #load(context: RequestContext<KeyScheduleBindings>, isRenewal = false): Promise<KeySchedule> {
    const epoch = this.#epoch;
    const copy = await this.#copies.call(context, String(epoch), undefined);
    if (epoch !== this.#epoch) return this.#load(context, isRenewal);
    const isYoung = copy !== undefined && context.arrivedAtMs - copy.readAtMs < keyTiming.kvCopyMs;
    if (isYoung && this.#includesKnownChanges(copy)) return this.#hold(context, copy.schedule);
    try {
      return await this.#request(context, false);
    } catch (error) {
      const old = await this.#oldCopy(context, copy, isRenewal);
      if (old === undefined || epoch !== this.#epoch) throw error;
      warnUnavailable(context, "keys-from-old-copy", error);
      return this.#hold(context, old);
    }
  }

  async #oldCopy(
    context: RequestContext<KeyScheduleBindings>,
    copy: ScheduleCopy | undefined,
    isRenewal: boolean,
  ): Promise<KeySchedule | undefined> {
    if (copy !== undefined && this.#includesKnownChanges(copy)) return copy.schedule;
    return isRenewal ? undefined : this.#stored.call(context, `${this.#epoch} ${this.#control.version}`, undefined);
  }

  /** Returns only a result that was requested after the last change of keys known to this isolate. */
  async #request(context: RequestContext<KeyScheduleBindings>, signs: boolean): Promise<KeySchedule> {
    const epoch = this.#epoch;
    const schedule = await this.#calls.call(context, `${epoch} ${this.#wanted.size} ${signs}`, signs);
    return epoch === this.#epoch ? this.#hold(context, schedule) : this.#request(context, signs);
  }

  async #callKeyManager(context: RequestContext<KeyScheduleBindings>, signs: boolean): Promise<KeySchedule> {
    const cv = this.#control.version;
    const manager = objectStub(context.settings, context.env.KEY_MANAGER, keyManagerName);
    const schedule: KeySchedule = await withoutTimeLimit("KeyManager", () =>
      manager.schedule([...this.#wanted], signs),
    );
    if (cv !== undefined) {
      const copy: ScheduleCopy = { cv, readAtMs: context.arrivedAtMs, schedule };
      writeCache(context, copyKey, copy, copyLifeSeconds);
    }
    return schedule;
  }

  #hold(context: RequestContext<KeyScheduleBindings>, schedule: KeySchedule): KeySchedule {
    this.#held = { schedule, loadedAtMs: context.arrivedAtMs };
    this.#onLoad(schedule);
    return schedule;
  }

  /** Before the first control version, changes are unknown; the copy is discarded when the version becomes known. */
  #includesKnownChanges(copy: ScheduleCopy): boolean {
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
