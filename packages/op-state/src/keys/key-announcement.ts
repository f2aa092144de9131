import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { leaseTiming, longestWaitMs } from "@edge-op/shared/config/lease-timing";
import { readSettings, type SettingsVariables } from "@edge-op/shared/config/settings";
import { type ControlPlaneBindings, commitControlChange } from "@edge-op/shared/control/commit-control-change";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import type { KeySchedule } from "@edge-op/shared/keys/key-schedule";
import { readStoredSchedule, storeSchedule } from "@edge-op/shared/keys/stored-schedule";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { within } from "@edge-op/shared/runtime/deadline";
import { log } from "@edge-op/shared/runtime/log";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { everyId } from "@edge-op/shared/storage/record-kinds";

export type KeyAnnouncementBindings = SettingsVariables & ControlPlaneBindings;

/** The stored state of KeyManager; `announced` is the newest revision known to every isolate. */
export interface AnnouncedState {
  schedule(): KeySchedule;
  announced(): number;
  /** All keys of the revision are known everywhere from `knownFromMs` on. */
  markAnnounced(schedule: KeySchedule, knownFromMs: number): void;
}

/** A signature with an algorithm without another key waits this long for the announcement of the first one; the alarm completes it. */
const requestWaitMs = 3_000;

/**
 * **Announces a change of keys to every isolate before a new key is used** (K6): a control change of kind `keys`, after which isolates discard their
 * schedule. D1's schedule, which isolates read, changes in the same transaction.
 */
export class KeyAnnouncement {
  readonly #ctx: DurableObjectState;
  readonly #env: KeyAnnouncementBindings;
  readonly #state: AnnouncedState;
  #pending: Promise<void> | undefined;

  constructor(ctx: DurableObjectState, env: KeyAnnouncementBindings, state: AnnouncedState) {
    this.#ctx = ctx;
    this.#env = env;
    this.#state = state;
  }

  /** Resolves when the current schedule is in force everywhere. */
  announce(): Promise<void> {
    this.#pending ??= this.#announceAll().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Like {@link announce}, for a request, which continues without the new keys if the announcement takes too long or fails. */
  async tryAnnounce(): Promise<void> {
    try {
      await within(requestWaitMs, this.announce(), () => {
        throw new UnavailableError("control plane", new Error(`not announced within ${requestWaitMs} ms`));
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      log("keys-not-announced", { cause: String(error.cause) });
    }
  }

  async #announceAll(): Promise<void> {
    for (;;) {
      const schedule = this.#state.schedule();
      if (this.#state.announced() >= schedule.revision) return;
      const request = new Request(this.#env.ISSUER);
      const context = createRequestContext(request, this.#env, this.#ctx);
      const copy = storeSchedule(this.#env.DB, schedule);
      await commitControlChange(context, copy, [{ kind: "keys", id: everyId }]);
      const { revocationMode, leaseMs } = readSettings(this.#env);
      // `bounded` acknowledges a change before it is in force everywhere.
      const waitMs = revocationMode === "bounded" ? longestWaitMs(leaseTiming, leaseMs) : 0;
      this.#state.markAnnounced(schedule, nowMs() + waitMs);
    }
  }

  /**
   * Writes D1's schedule again if it differs from this one: its keys are no longer new, or D1 was restored to an earlier time.
   */
  async store(): Promise<void> {
    const { DB } = this.#env;
    const stored = await readStoredSchedule(DB, 0);
    const schedule = this.#state.schedule();
    if (JSON.stringify(stored?.value) !== JSON.stringify(schedule))
      await queryDatabase(() => DB.batch(storeSchedule(DB, schedule)));
  }
}
