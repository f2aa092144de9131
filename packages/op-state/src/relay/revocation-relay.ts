import { leaseTiming } from "@edge-op/shared/config/lease-timing";
import { limits } from "@edge-op/shared/config/limits";
import type {
  RelayLeaseRequest,
  RelayLeaseResponse,
  RelayStatistics,
  RevocationRelayRpc,
} from "@edge-op/shared/leases/relay-rpc";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { log } from "@edge-op/shared/runtime/log";
import { HeldCalls } from "../leases/held-calls.ts";
import { ConfirmationWaits } from "../leases/lease-holders.ts";
import { LeaseStatistics } from "../leases/lease-statistics.ts";
import { FactsObject } from "../wake/state-object.ts";
import { type ConfirmationWait, RelayMachine } from "./relay-machine.ts";
import { type RelayBindings, UpstreamLeases } from "./upstream-leases.ts";

/** A relay without a call for this long, and without a holder, is not used. */
const unusedMs = 3_000;

/**
 * **A relay between the shards and the isolates of a region** (ADR 22): isolates renew one lease here instead of one at each shard.
 * It stores nothing: a new instance is a new holder at the shards, and isolates of the earlier one get snapshots. `RelayMachine`
 * decides; {@link UpstreamLeases} calls the shards.
 */
export class RevocationRelay
  extends FactsObject<RelayBindings>
  implements Omit<RevocationRelayRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #machine = new RelayMachine(crypto.randomUUID(), leaseTiming, {
    maxRows: limits.relayRows,
    snapshots: limits.leaseSnapshots,
  });
  readonly #held = new HeldCalls<RelayLeaseRequest, RelayLeaseResponse>((request, heldMs, atMs) =>
    this.#give(request, heldMs, atMs),
  );
  readonly #upstream: UpstreamLeases;
  readonly #waits = new ConfirmationWaits();
  readonly #statistics = new LeaseStatistics(nowMs(), limits.slowAcknowledgementMs);
  #calledAtMs = Number.NEGATIVE_INFINITY;

  constructor(ctx: DurableObjectState, env: ConstructorParameters<typeof FactsObject<RelayBindings>>[1]) {
    super(ctx, env);
    this.#upstream = new UpstreamLeases(
      this.#machine,
      env,
      (atMs) => this.#isUsed(atMs),
      (isNews) => this.#installed(isNews),
    );
  }

  async lease(request: RelayLeaseRequest): Promise<RelayLeaseResponse> {
    const atMs = nowMs();
    this.#calledAtMs = atMs;
    this.#waits.settle(this.#machine.confirm(request));
    this.#upstream.keep();
    const untilMs = this.#machine.holdUntilMs(request, atMs);
    if (untilMs > atMs) {
      this.#statistics.count("renewalsHeld");
      return this.#held.hold(request, atMs, untilMs);
    }
    this.#held.resolveHeld(request.holder);
    return this.#give(request, 0, atMs);
  }

  async release(holder: string): Promise<void> {
    this.#held.resolveHeld(holder);
    this.#waits.settle(this.#machine.release(holder));
    this.#statistics.count("releases");
  }

  async statistics(): Promise<RelayStatistics> {
    const atMs = nowMs();
    const { confirmations, shardNames } = this.#machine;
    return {
      ...this.#statistics.read({ confirmations, holders: this.#machine.countLiveHolders(atMs) }),
      coveredShards: this.#machine.countCovered(atMs),
      liveShards: shardNames.length,
    };
  }

  #isUsed(atMs: number): boolean {
    return (
      this.#held.size > 0 || Math.abs(atMs - this.#calledAtMs) < unusedMs || this.#machine.countLiveHolders(atMs) > 0
    );
  }

  #give(request: RelayLeaseRequest, heldMs: number, atMs: number): RelayLeaseResponse {
    const response = this.#machine.lease(request, heldMs, atMs);
    if (response.leaseMs > 0) this.#statistics.count("leasesGranted");
    return response;
  }

  #installed(isNews: boolean): void {
    if (isNews) this.#held.announce();
    const wait = this.#machine.startWait(nowMs());
    if (wait !== undefined) void this.#confirmUpstream(wait);
  }

  /** Confirms changes at their shards when every isolate with a lease without them has confirmed, or that lease has ended. */
  async #confirmUpstream(wait: ConfirmationWait): Promise<void> {
    const { pending, startedAtMs, leasesMs } = wait;
    if (leasesMs > 0) {
      this.#statistics.start();
      await this.#waits.wait(pending, startedAtMs);
      const slow = this.#statistics.end({ startedAtMs, leasesMs, fenceMs: 0, lacking: pending.ended }, nowMs());
      if (slow !== undefined) log("acknowledgement-slow", { shard: this.ctx.id.name ?? "", ...slow });
    }
    await Promise.all(this.#machine.endWait(wait).map((confirmation) => this.#upstream.confirm(confirmation)));
  }
}
