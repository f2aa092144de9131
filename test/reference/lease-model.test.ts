/**
 * **The capacity model against the machines themselves**, for more isolates than one computer can run: a lease server and its holders in virtual
 * time, without network and CPU. Each holder renews when it receives a response, like an isolate in use.
 */

import { describe, expect, test } from "vitest";
import { defaultFleet, grantedLeaseMs, leaseLoad } from "../../load-tests/model/leases.ts";
import { HeldCallQueue } from "../../packages/op-state/src/leases/held-calls.ts";
import { RelayMachine } from "../../packages/op-state/src/relay/relay-machine.ts";
import { RevocationMachine } from "../../packages/op-state/src/revocation/revocation-machine.ts";
import { leaseTiming } from "../../packages/shared/src/config/lease-timing.ts";
import type { RelayLeaseRequest } from "../../packages/shared/src/leases/relay-rpc.ts";
import type { LeaseRequest, LeaseResponse } from "../../packages/shared/src/leases/revocation-shard-rpc.ts";

const seconds = 30;

/** Uniform in (0, 1), the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
}

/** Virtual time passes in steps. */
const stepMs = 4;

/** The factor by which a server holds renewals longer than stated, and whether news ends them. */
interface Behaviour {
  readonly held: number;
  readonly tellsNews: boolean;
}

const asItIs: Behaviour = { held: 1, tellsNews: true };

/** Lease calls per second at the server, and the length of its last lease. */
function run(holders: number, writesPerSecond: number, behaviour = asItIs) {
  const random = seeded(holders);
  const machine = new RevocationMachine(
    leaseTiming,
    10_000,
    { entries: [], seq: 0, cv: 0, changes: [], horizon: undefined },
    0,
  );
  const held = new HeldCallQueue<LeaseRequest>();
  const since = new Map<string, number>();
  /** The holders that call next, by step. */
  const arrivals = new Map<number, string[]>();
  const arrive = (holder: string, atMs: number) => {
    const step = Math.ceil(atMs / stepMs) * stepMs;
    arrivals.set(step, [...(arrivals.get(step) ?? []), holder]);
  };
  for (let index = 0; index < holders; index += 1) arrive(`holder-${index}`, random() * 1_000);
  const nextWrite = (atMs: number) =>
    writesPerSecond === 0 ? Number.POSITIVE_INFINITY : atMs - (Math.log(random()) * 1_000) / writesPerSecond;
  let writeMs = nextWrite(0);
  let writes = 0;
  let calls = 0;
  let leaseMs = 0;
  const warmUpMs = 20_000;

  const grant = (request: LeaseRequest, nowMs: number) => {
    const horizon = machine.horizonDue(request.leaseMs, nowMs);
    if (horizon !== undefined) machine.extend(horizon, nowMs);
    const response = machine.lease(request, 0, nowMs);
    if (response.kind !== "lease") throw new Error("no lease");
    ({ leaseMs } = response);
    since.set(request.holder, response.seq);
    arrive(request.holder, nowMs + 1);
  };
  const call = (holder: string, nowMs: number) => {
    if (nowMs >= warmUpMs) calls += 1;
    const seq = since.get(holder) ?? -1;
    const request = { holder, sinceSeq: seq, confirmedSeq: seq, filterSeq: -1, sinceCv: 0, leaseMs: 1_000, hold: true };
    machine.confirm(request);
    const untilMs = nowMs + (machine.holdUntilMs(request, nowMs) - nowMs) * behaviour.held;
    if (untilMs > nowMs) held.hold(holder, request, untilMs);
    else grant(request, nowMs);
  };

  for (let nowMs = 0; nowMs < warmUpMs + seconds * 1_000; nowMs += stepMs) {
    while (writeMs <= nowMs) {
      writes += 1;
      machine.apply(machine.plan({ rows: [{ key: `t:${writes}`, untilMs: nowMs + 600_000 }], cutOffs: [], cv: 0 }));
      if (behaviour.tellsNews) held.announce(nowMs);
      writeMs = nextWrite(writeMs);
    }
    for (const request of held.take(nowMs)) grant(request, nowMs);
    for (const holder of arrivals.get(nowMs) ?? []) call(holder, nowMs);
    arrivals.delete(nowMs);
  }
  return { callsPerSecond: calls / seconds, leaseMs };
}

/** Lease calls per second at one relay, whose own leases are renewed every quarter of their length. Nothing is revoked. */
function runRelay(isolates: number, { held: heldTimes } = asItIs): number {
  const random = seeded(isolates);
  const shard = "revocation:g1:wnam:0";
  const machine = new RelayMachine("run", leaseTiming);
  machine.setShards([shard]);
  const held = new HeldCallQueue<RelayLeaseRequest>();
  const arrivals = new Map<number, string[]>();
  const versions = new Map<string, number>();
  const arrive = (holder: string, atMs: number) => {
    const step = Math.ceil(atMs / stepMs) * stepMs;
    arrivals.set(step, [...(arrivals.get(step) ?? []), holder]);
  };
  for (let index = 0; index < isolates; index += 1) arrive(`isolate-${index}`, random() * 1_000);
  const grant = (request: RelayLeaseRequest, nowMs: number) => {
    versions.set(request.holder, machine.lease(request, 0, nowMs).version);
    arrive(request.holder, nowMs + 1);
  };
  const warmUpMs = 20_000;
  let calls = 0;
  let renewAtMs = 0;
  for (let nowMs = 0; nowMs < warmUpMs + seconds * 1_000; nowMs += stepMs) {
    if (nowMs >= renewAtMs) {
      const request = machine.request(shard, 1_000)!;
      const { leaseMs } = request;
      const content = { snapshot: request.sinceSeq < 0, seq: 0, rows: [], cutOffs: [] };
      const response: LeaseResponse = { kind: "lease", ...content, leaseMs, heldMs: 0, cv: 1, changes: [] };
      if (machine.install(shard, response, request, nowMs)) held.announce(nowMs);
      renewAtMs = nowMs + request.holdMs!;
    }
    for (const request of held.take(nowMs)) grant(request, nowMs);
    for (const holder of arrivals.get(nowMs) ?? []) {
      if (nowMs >= warmUpMs) calls += 1;
      const version = versions.get(holder) ?? -1;
      const request = { holder, instance: "run", version, sinceCv: 1, leaseMs: 1_000, hold: true };
      machine.confirm(request);
      const untilMs = nowMs + (machine.holdUntilMs(request, nowMs) - nowMs) * heldTimes;
      if (untilMs > nowMs) held.hold(holder, request, untilMs);
      else grant(request, nowMs);
    }
    arrivals.delete(nowMs);
  }
  return calls / seconds;
}

/** Every holder uses its lease all the time. */
const busy = { ...defaultFleet, requestsPerIsolate: 1e6, shards: 1, changesPerSecond: 0 };

const isWithin15Percent = (measured: number, model: number) => Math.abs(measured / model - 1) < 0.15;

describe("the capacity model and the machines of a lease server", { timeout: 60_000 }, () => {
  test.each([
    // A renewal every half of a lease, whose length allows 400 per second.
    [50, 0, 100, 1_000],
    [200, 0, 400, 1_000],
    [1_000, 0, 400, 5_000],
    // At most 500 more for news: 1.54 renewals between news, which arrives every 0.1 + e^−0.1 s, and so on.
    [50, 1, 126.5, 1_000],
    [200, 1, 474.9, 1_000],
    [300, 1, 494.9, 1_500],
    [1_000, 1, 510.2, 5_000],
  ])(
    "%i holders and %i revocations a second: %i calls by the model, within 15 percent; leases of %i ms or up to a tenth longer",
    (isolates, revocationsPerSecond, calls, leaseMs) => {
      const fleet = { ...busy, isolates, revocationsPerSecond };
      expect(leaseLoad(fleet).busiestShard - revocationsPerSecond).toBeCloseTo(calls, 0);
      expect(grantedLeaseMs(isolates, fleet)).toBe(leaseMs);
      const measured = run(isolates, revocationsPerSecond);
      expect(measured.callsPerSecond).toSatisfy((found: number) => isWithin15Percent(found, calls));
      expect(measured.leaseMs).toBeGreaterThanOrEqual(leaseMs);
      expect(measured.leaseMs).toBeLessThanOrEqual(1.1 * leaseMs + 1);
    },
  );

  test.each([
    // A renewal every 0.6 of a lease.
    [50, 83.3],
    [200, 333.3],
    [300, 400],
    [1_000, 400],
  ])("%i isolates behind a relay: %i calls by the model, within 15 percent", (isolates, calls) => {
    const fleet = { ...busy, isolates, regions: 1, relaysPerRegion: 1, revocationsPerSecond: 0 };
    expect(leaseLoad(fleet).busiestRelay).toBeCloseTo(calls, 0);
    expect(runRelay(isolates)).toSatisfy((found: number) => isWithin15Percent(found, calls));
  });

  test.each<[string, Behaviour]>([
    ["holds renewals half as long", { ...asItIs, held: 0.5 }],
    ["holds renewals almost to the end of the lease", { ...asItIs, held: 1.8 }],
    ["does not end them at news", { ...asItIs, tellsNews: false }],
  ])("a server that %s differs from the model", (_, behaviour) => {
    expect(run(200, 1, behaviour).callsPerSecond).not.toSatisfy((found: number) => isWithin15Percent(found, 474.9));
  });

  test("a relay that holds renewals for half of a lease differs from the model", () => {
    expect(runRelay(50, { ...asItIs, held: 0.5 / 0.6 })).not.toSatisfy((found: number) =>
      isWithin15Percent(found, 83.3),
    );
  });
});
