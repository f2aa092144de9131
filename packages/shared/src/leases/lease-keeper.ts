import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { within } from "../runtime/deadline.ts";
import { log } from "../runtime/log.ts";
import { type RenewalRun, RenewalRuns } from "./renewal-runs.ts";

export interface KeptLease {
  /** The deployment's L, or the length of the last lease if that was longer. */
  readonly leaseMs: number;
  /** Renews by a held call and installs the response; `undefined` when the lease is no longer kept. */
  renew(): Promise<void> | undefined;
  /** Stops deciding by the lease and releases it at the shard. */
  release(): Promise<void>;
}

/**
 * **Renews one lease while requests use it.** The shard holds one renewal call at a time and returns it as soon as it has changes; the next renewal
 * confirms them. A run ends when the run of another request has replaced it. It also ends, and releases the lease, when no request has used the lease
 * for the length of a lease. {@link RenewalRuns} decides; requests never wait for a run.
 */
export class LeaseKeeper {
  readonly #name: string;
  readonly #runs = new RenewalRuns();
  /** Ends the wait of the present run for the renewal of the run before it. */
  #follow: (() => void) | undefined;

  /** `name` of the shard, for the log. */
  constructor(name: string) {
    this.#name = name;
  }

  isUsedWithin(ms: number, atMs: number): boolean {
    return this.#runs.isUsedWithin(ms, atMs);
  }

  /** Notes a request. Returns whether a run keeps the lease; if not, the caller starts one once the lease is there. */
  noteUse(atMs: number): boolean {
    return this.#runs.noteUse(atMs);
  }

  /** Starts a run, in the background of a request. */
  start(context: RequestContext<unknown>, lease: KeptLease): void {
    context.waitUntil(this.#renewWhileUsed(lease, this.#runs.start(nowMs(), lease.leaseMs)));
  }

  /** Ends the present run. */
  stop(): void {
    this.#runs.stop();
  }

  async #renewWhileUsed(lease: KeptLease, run: RenewalRun): Promise<void> {
    const next = () => this.#runs.next(run.number, nowMs(), lease.leaseMs);
    // The request that starts the run is completed first.
    await (run.waitMs > 0 ? this.#renewalReturned(run.waitMs) : scheduler.wait(1));
    try {
      for (let step = next(); step !== "end"; step = next()) {
        if (step === "release") {
          await lease.release();
          return;
        }
        const renewal = lease.renew();
        if (renewal === undefined) return;
        await within(lease.leaseMs + limits.objectCallMs, renewal, () => {
          throw new UnavailableError("revocation", new Error("no response to a renewal"));
        });
      }
    } catch (cause) {
      this.#runs.fail(run.number, nowMs());
      log("lease-not-renewed", { shard: this.#name, cause: String(cause) });
    } finally {
      if (this.#runs.isAwaited(run.number)) this.#follow?.();
    }
  }

  /** Uses a promise and a timer of the request that waits, because a request cannot use those of another one. */
  async #renewalReturned(longestMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#follow = resolve;
    const timer = setTimeout(resolve, longestMs);
    await promise;
    clearTimeout(timer);
  }
}
