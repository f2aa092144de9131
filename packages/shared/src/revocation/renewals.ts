import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { UnavailableError } from "../oauth/errors.ts";
import { nowMs } from "../runtime/clock.ts";
import { within } from "../runtime/deadline.ts";
import { log } from "../runtime/log.ts";

/**
 * A run of renewals is the background work of one request. The platform ends such work 30 s after the response and limits the
 * calls of a request, so the run of another request replaces it well before.
 */
const longestRunMs = 5_000;

/** After a failed renewal, the first request that arrives later than this starts a new run. */
const renewAgainMs = 100;

export interface KeptLease {
  /** The deployment's L, or the length of the last lease if that was longer. */
  readonly leaseMs: number;
  /** Renews by a held call and installs the response; `undefined` when the lease is not kept any more. */
  renew(): Promise<void> | undefined;
  /** Stops deciding by the lease and releases it at the shard. */
  release(): Promise<void>;
}

/**
 * **Renews one lease while requests use it.** The shard holds one renewal call at a time and returns it as soon as it has changes;
 * the next renewal confirms them. A run ends when the run of another request has replaced it, or when no request has used the
 * lease for the length of a lease; the lease is then released. Requests never wait for a run.
 */
export class Renewals {
  readonly #name: string;
  #lastUseMs = Number.NEGATIVE_INFINITY;
  /** Number of the run that keeps the lease; an older run ends. */
  #run = 0;
  /** From then on a request starts a new run: the present one has ended, is lost, or is to be taken over. */
  #nextRunAtMs = Number.NEGATIVE_INFINITY;

  /** `name` of the shard, for the log. */
  constructor(name: string) {
    this.#name = name;
  }

  isUsedWithin(ms: number, atMs: number): boolean {
    return atMs - this.#lastUseMs <= ms;
  }

  /** Notes a request. Returns whether a run keeps the lease; if not, the caller starts one once the lease is there. */
  noteUse(atMs: number): boolean {
    this.#lastUseMs = atMs;
    return atMs < this.#nextRunAtMs;
  }

  /** Starts a run, in the background of a request. */
  start(context: RequestContext<unknown>, lease: KeptLease): void {
    this.#run += 1;
    this.#nextRunAtMs = context.arrivedAtMs + lease.leaseMs;
    context.waitUntil(this.#renewWhileUsed(lease, this.#run));
  }

  /** Ends the present run. */
  stop(): void {
    this.#run += 1;
    this.#nextRunAtMs = Number.NEGATIVE_INFINITY;
  }

  async #renewWhileUsed(lease: KeptLease, run: number): Promise<void> {
    const takeOverAtMs = nowMs() + longestRunMs;
    // The request that starts the run is completed first.
    await scheduler.wait(1);
    try {
      for (let atMs = nowMs(); this.#run === run; atMs = nowMs()) {
        if (!this.isUsedWithin(lease.leaseMs, atMs)) {
          this.stop();
          await lease.release();
          return;
        }
        // A renewal that is out for as long as the lease lasts is lost.
        this.#nextRunAtMs = Math.min(takeOverAtMs, atMs + lease.leaseMs);
        const renewal = lease.renew();
        if (renewal === undefined) return;
        await within(lease.leaseMs + limits.objectCallMs, renewal, () => {
          throw new UnavailableError("revocation", new Error("no response to a renewal"));
        });
      }
    } catch (cause) {
      // Requests are decided by the lease while it lasts; the next one starts to renew it again.
      if (this.#run === run) this.#nextRunAtMs = nowMs() + renewAgainMs;
      log("lease-not-renewed", { shard: this.#name, cause: String(cause) });
    }
  }
}
