import { givenFromMs, leaseTiming } from "../config/lease-timing.ts";
import type { RelayLeaseRequest, RelayLeaseResponse } from "./relay-rpc.ts";
import { noVersion } from "./revocation-shard-rpc.ts";
import type { ShardReplica } from "./shard-replica.ts";

/**
 * **The content that an isolate has installed from its relay, and the time until which that lease covers each shard** (ADR 22). No I/O, no clock. The
 * rows themselves are in the replicas of the shards, to which a direct lease adds too: rows are only ever added.
 *
 * Content belongs to one run of the relay. A shard is covered only if its snapshot from that run has been installed, so a shard that the relay does
 * not send is never decided by its lease.
 */
export class RelayReplica {
  #holder: string = crypto.randomUUID();
  #instance: string | undefined;
  #version = -1;
  #leaseMs = 0;
  /** The shards whose content from this run is complete up to `#version`, and the time until which they are covered. */
  readonly #untilMs = new Map<string, number>();

  /** The request for a lease or its renewal; it confirms what is installed. `cv` is the applied control version. */
  request(leaseMs: number, cv: number | undefined, hold: boolean): RelayLeaseRequest {
    return {
      holder: this.#holder,
      instance: this.#instance,
      version: this.#version,
      sinceCv: cv ?? noVersion,
      leaseMs,
      hold,
    };
  }

  /** Installs the response to `request`. Its control version has been applied before. */
  install(
    response: RelayLeaseResponse,
    request: RelayLeaseRequest,
    sentAtMs: number,
    replicaOf: (shard: string) => ShardReplica,
  ): void {
    if (request.holder !== this.#holder) return;
    if (response.instance !== this.#instance) {
      // A late response of an earlier run.
      if (request.instance !== this.#instance) return;
      this.#instance = response.instance;
      this.#version = -1;
      this.#untilMs.clear();
    }
    this.#leaseMs = response.leaseMs;
    const validUntilMs = givenFromMs(leaseTiming, sentAtMs, response.heldMs) + response.leaseMs;
    for (const { name, content, isCovered } of response.shards) {
      // An older response does not contain what has changed since.
      const isComplete = content[0]?.snapshot === true && response.version >= this.#version;
      if (!isComplete && !this.#untilMs.has(name)) continue;
      if (content.length > 0) {
        const replica = replicaOf(name);
        for (const part of content) replica.add(part);
        replica.prune(sentAtMs);
      }
      const before = this.#untilMs.get(name) ?? Number.NEGATIVE_INFINITY;
      this.#untilMs.set(name, isCovered ? Math.max(before, validUntilMs) : before);
    }
    this.#version = Math.max(this.#version, response.version);
  }

  /** Whether a request that arrived at `arrivedAtMs` may be decided by the replica of this shard. */
  covers(shard: string, arrivedAtMs: number): boolean {
    return arrivedAtMs < this.validUntilMs(shard);
  }

  /** The length of the last lease, which may be longer than requested. */
  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** Whether any shard is covered. */
  isValid(atMs: number): boolean {
    return [...this.#untilMs.values()].some((untilMs) => atMs < untilMs);
  }

  validUntilMs(shard: string): number {
    return this.#untilMs.get(shard) ?? Number.NEGATIVE_INFINITY;
  }

  /** Notes that the content of this shard has been discarded: the relay's lease does not cover it before another snapshot. */
  forget(shard: string): void {
    this.#untilMs.delete(shard);
  }

  /** Ends the lease and keeps the content. Returns the holder to release at the relay. */
  lapse(): string {
    const holder = this.#holder;
    this.#holder = crypto.randomUUID();
    for (const shard of this.#untilMs.keys()) this.#untilMs.set(shard, Number.NEGATIVE_INFINITY);
    return holder;
  }
}
