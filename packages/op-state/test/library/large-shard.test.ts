/**
 * **A shard with many rows on the real runtime**: boot, filter, calls per read. `SHARD_ROWS=1000000 npx vitest run --project op-state large-shard`
 * measures a million.
 */

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { ControlView } from "@edge-op/shared/control/control-view";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import type { LeaseResponse } from "@edge-op/shared/leases/revocation-shard-rpc";
import { type RevocationBindings, RevocationView } from "@edge-op/shared/leases/revocation-view";
import { formatTokenId, objectName } from "@edge-op/shared/storage/shard-address";
import { ShardMap } from "@edge-op/shared/storage/shard-map";
import { expect, it } from "vitest";
import { fillShard } from "../fixtures/fill-shard.ts";

type FixtureEnv = RevocationBindings & SettingsVariables & { readonly SHARD_ROWS: string };
const fixtureEnv = env as unknown as FixtureEnv;
const rows = Number(fixtureEnv.SHARD_ROWS);
const reads = 3_000;
const address = { generation: 1, region: "wnam", shard: 3 };
const shard = () => fixtureEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", address));
const ask = { holder: "a", sinceSeq: -1, confirmedSeq: -1, filterSeq: -1, sinceCv: -1, leaseMs: 1_000, hold: false };

const background: Promise<void>[] = [];
const control = new ControlView();
const view = new RevocationView(control, new ShardMap(control));

async function request<T>(work: (context: RequestContext<FixtureEnv>) => Promise<T>) {
  const execution = createExecutionContext();
  const counts = { object: 0, kv: 0, d1: 0 };
  const counted = countCalls({ ...fixtureEnv, REVOCATION_MODE: "strict", LEASE_MS: "5000" }, counts);
  const result = await work(createRequestContext(new Request("https://op.example.com/"), counted, execution));
  background.push(waitOnExecutionContext(execution));
  return { result, calls: counts.object };
}

function isRevoked(grantId: string) {
  const jti = formatTokenId({ address, grantId, random: "r" });
  const subject = { address, jti, grantId, sub: "a", clientId: "app", lineage: [] };
  return request((context) => view.isRevoked(context, [subject]));
}

async function time<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const from = performance.now();
  const result = await work();
  return { result, ms: Math.round(performance.now() - from) };
}

it(`${rows} rows in one shard: exact checks at once, then leases by a filter, almost without calls`, async () => {
  await fillShard(shard(), rows);
  const boot = await time(async () => (await shard().check(["g:revoked-grant-of-22-7", "g:other"], [], -1)).revoked);
  expect(boot.result).toEqual(["g:revoked-grant-of-22-7"]);

  const building = await time(async () => {
    let slowestCheckMs = 0;
    for (;;) {
      const response: LeaseResponse = await shard().lease(ask);
      if (response.kind === "lease") return { response, slowestCheckMs };
      const check = await time(async () => await shard().check(["g:other"], [], -1));
      slowestCheckMs = Math.max(slowestCheckMs, check.ms);
      // In one process, calls without a pause leave the object's timers no turn.
      await scheduler.wait(5);
    }
  });
  const { response, slowestCheckMs } = building.result;
  expect(response.filter!.bytes.length).toBeLessThan(1.5 * rows);
  expect(response.rows).toEqual([]);

  for (let use = 0; use < 2; use += 1) await isRevoked("warm-up");
  let calls = 0;
  for (let index = 0; index < reads; index += 1) {
    const read = await isRevoked(`alive-${index}`);
    expect(read.result).toBe(false);
    calls += read.calls;
  }
  expect(calls / reads).toBeLessThan(0.01);
  expect((await isRevoked(`revoked-grant-of-22-${rows}`)).result).toBe(true);

  // The first lease of this test belongs to a holder that never confirms: a revocation would wait until it has ended.
  await shard().release(ask.holder);
  const late = `g:late`;
  const event = { type: "grant.revoked", payload: {} };
  const revoked = await time(() =>
    shard().revoke([{ key: late, untilMs: Date.now() + 3_600_000, operationId: late, event }], true),
  );
  expect((await isRevoked("late")).result).toBe(true);
  // The holder that is alive has confirmed it: no wait ended by time.
  expect((await shard().statistics()).waits).toMatchObject({ endedByConfirmation: 1, endedByLeaseEnd: 0 });
  await Promise.all(background.splice(0));
  const measured = {
    rows,
    bootMs: boot.ms,
    buildMs: building.ms,
    slowestCheckWhileBuildingMs: slowestCheckMs,
    filterBytes: response.filter!.bytes.length,
    callsPerRead: calls / reads,
    replicaBytes: view.heldBytes,
    revokeMs: revoked.ms,
  };
  if (rows > 30_000) console.info(JSON.stringify(measured));
}, 600_000);
