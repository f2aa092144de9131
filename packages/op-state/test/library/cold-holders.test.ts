/**
 * **A thousand cold holders at once** (ADR 22), at a shard and at a relay of the real runtime: the bytes in flight, the responses to the other
 * holders, and that each of them gets its snapshot in the end. A snapshot is in flight until its holder has called again.
 */

import { env } from "cloudflare:workers";
import { limits } from "@edge-op/shared/config/limits";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import type { RelayLeaseRequest, RelayLeaseResponse } from "@edge-op/shared/leases/relay-rpc";
import type { LeaseRequest, LeaseResponse } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { RevocationBindings } from "@edge-op/shared/leases/revocation-view";
import { controlPlaneName, objectName } from "@edge-op/shared/storage/shard-address";
import { expect, it } from "vitest";
import { fillShard } from "../fixtures/fill-shard.ts";

const { TOKEN_REVOCATION_STORE, REVOCATION_RELAY, CONTROL_PLANE } = env as unknown as RevocationBindings & {
  readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc>;
};
const holders = Array.from({ length: 1_000 }, (_, index) => `holder-${index}`);
const rows = 60_000;
const { bytesInFlight } = limits.leaseSnapshots;
const address = { generation: 1, region: "wnam", shard: 3 };
const shard = () => TOKEN_REVOCATION_STORE.getByName(objectName("revocation", address));
const relay = () => REVOCATION_RELAY.getByName(objectName("relay", { generation: 1, region: "wnam", shard: 0 }));

interface Turn {
  /** The size of the snapshot in the response; 0 if it contains none. */
  readonly bytes: number;
  readonly againMs: number;
}

interface Round {
  readonly bytes: number;
  readonly served: number;
  readonly elapsedMs: number;
}

/** All holders call at once, and those without a snapshot again in their turns. Returns the bytes that each round had in flight. */
async function comeInTurns(
  request: (holder: string) => Promise<Turn>,
  confirm: (holder: string) => Promise<unknown>,
): Promise<readonly Round[]> {
  const rounds: Round[] = [];
  let waiting = holders;
  while (waiting.length > 0 && rounds.length < 100) {
    const from = performance.now();
    const turns = await Promise.all(waiting.map(async (holder) => ({ holder, ...(await request(holder)) })));
    const served = turns.filter(({ bytes }) => bytes > 0);
    const refused = turns.filter(({ bytes }) => bytes === 0);
    rounds.push({
      bytes: served.reduce((sum, { bytes }) => sum + bytes, 0),
      served: served.length,
      elapsedMs: performance.now() - from,
    });
    for (const { againMs } of refused) {
      expect(againMs).toBeGreaterThan(0);
      expect(againMs).toBeLessThanOrEqual(10_000);
    }
    await Promise.all(served.map(({ holder }) => confirm(holder)));
    if (refused.length > 0) await scheduler.wait(Math.min(...refused.map(({ againMs }) => againMs)));
    waiting = refused.map(({ holder }) => holder);
  }
  expect(waiting).toEqual([]);
  return rounds;
}

/** A slow machine may take longer for a round than a snapshot counts as in flight. */
function expectBounded(rounds: readonly Round[]): void {
  expect(rounds.length).toBeGreaterThan(1);
  expect(rounds[0]!.served).toBeGreaterThan(100);
  for (const { bytes, elapsedMs } of rounds) {
    expect(bytes).toBeLessThanOrEqual(bytesInFlight * (1 + Math.floor(elapsedMs / 2_000)));
  }
}

function bytesOf(response: LeaseResponse): number {
  return response.kind === "lease" ? (response.filter?.bytes.length ?? 0) : 0;
}

it("a shard has a bounded number of snapshots in flight; the other holders check exactly, and get theirs in the end", async () => {
  await fillShard(shard(), rows);
  const requestOf = (holder: string): LeaseRequest => {
    const since = { sinceSeq: -1, confirmedSeq: -1, filterSeq: -1, sinceCv: -1 };
    return { holder, ...since, leaseMs: 1_000, hold: false };
  };
  // The filter is built first.
  while (bytesOf(await shard().lease(requestOf("first"))) === 0) await scheduler.wait(20);
  await shard().release("first");
  const rounds = await comeInTurns(
    async (holder) => {
      const response: LeaseResponse = await shard().lease(requestOf(holder));
      return { bytes: bytesOf(response), againMs: response.kind === "lease" ? 0 : (response.againMs ?? 0) };
    },
    async (holder) => shard().confirm(holder, rows),
  );
  expectBounded(rounds);
});

it("a relay that starts behind a thousand cold isolates receives its snapshot immediately", async () => {
  await fillShard(shard(), rows);
  const since = { sinceSeq: -1, confirmedSeq: -1, filterSeq: -1, sinceCv: -1, leaseMs: 1_000, hold: false };
  while (bytesOf(await shard().lease({ holder: "first", ...since })) === 0) await scheduler.wait(20);
  const cold = await Promise.all(
    holders.map(async (holder): Promise<LeaseResponse> => await shard().lease({ holder, ...since })),
  );
  expect(cold.some(({ kind }) => kind === "checkOnly")).toBe(true);
  expect(bytesOf(await shard().lease({ holder: "relay", ...since, isRelay: true }))).toBeGreaterThan(0);
});

it("a relay has the same bound; a response that had to wait grants nothing", async () => {
  await fillShard(shard(), rows);
  const plane = CONTROL_PLANE.getByName(controlPlaneName);
  const regions = { wnam: { shards: 1, hint: "wnam" as const } };
  await plane.openGeneration({ store: "relay", regions, operationId: "open" });
  const requestOf = (holder: string, hold = false): RelayLeaseRequest => {
    return { holder, instance: undefined, version: -1, sinceCv: -1, leaseMs: 1_000, hold };
  };
  const filterBytes = ({ shards }: RelayLeaseResponse) =>
    shards.flatMap(({ content }) => content).reduce((sum, content) => sum + bytesOf(content), 0);
  const request = async (holder: string): Promise<RelayLeaseResponse> => await relay().lease(requestOf(holder));
  // The shard builds its filter, then the relay has its lease.
  while (filterBytes(await request("first")) === 0) await scheduler.wait(20);
  await relay().release("first");
  const versions = new Map<string, RelayLeaseResponse>();
  const rounds = await comeInTurns(
    async (holder) => {
      const response = await request(holder);
      versions.set(holder, response);
      if (response.againMs !== undefined)
        expect(response).toMatchObject({ shards: [], leaseMs: 0, version: -1, cv: -1 });
      return { bytes: filterBytes(response), againMs: response.againMs ?? 0 };
    },
    async (holder) => {
      const { instance, version } = versions.get(holder)!;
      await relay().lease({ ...requestOf(holder), instance, version });
    },
  );
  expectBounded(rounds);
});
