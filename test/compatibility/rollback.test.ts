/** **One deployment's state under changing Workers**: upgrade, rollback and another shape (ADR 32, ADR 34). */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import {
  type LocalProvider,
  type LocalProviderOptions,
  startLocalProvider,
} from "../../packages/edge-op/src/local-provider.ts";
import { ProviderFixtures } from "../conformance/fixtures/provider-fixtures.ts";
import { endpointWorkers, isKept, PreviousRelease } from "./previous-release.ts";
import { StoredState } from "./stored-state.ts";

let stateDir: string;
let port: number;
let running: LocalProvider | undefined;

beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), "edge-op-compatibility-"));
  port = await findFreePort("127.0.0.1");
});
afterEach(async () => {
  await running?.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

/** Stops the running Workers, and starts others on the same state and address. */
async function run(options: LocalProviderOptions): Promise<LocalProvider> {
  await running?.stop();
  running = undefined;
  running = await startLocalProvider({ stateDir, port, ...options });
  return running;
}

if (isKept) {
  test("a deployment of the previous release is upgraded, rolled back and upgraded again, and loses nothing", async () => {
    const release = await PreviousRelease.find();
    const previous = { builtWorkers: release.workers(["op-state", "op", ...endpointWorkers]) };
    const state = await StoredState.make(await run({ ...previous, lastMigration: release.lastMigration }));
    await state.goOn(running!);
    await state.goOn(await run({}));
    // Migrations are not rolled back.
    await state.goOn(await run(previous));
    await state.goOn(await run({}));
    await state.detectTheft(running!);
  });
}

test("separate Workers become a compact one and separate again, on the same state", async () => {
  const state = await StoredState.make(await run({ shape: "separate" }));
  const ids = await running!.objectIds("SessionStore");
  expect(ids.length).toBeGreaterThan(0);
  await state.goOn(await run({ shape: "compact" }));
  expect(await running!.objectIds("SessionStore")).toEqual(expect.arrayContaining(ids));
  await state.goOn(await run({ shape: "separate" }));
  await state.detectTheft(running!);
});

test("endpoint Workers next to a compact Worker use its objects, as while a deployment is divided", async () => {
  const compact = await run({ shape: "compact", isolateProcesses: true });
  const { origins } = await compact.startIsolate();
  const fixtures = new ProviderFixtures(compact);
  const client = await fixtures.client({ introspection: { clients: ["*"] } });
  const beside = new ProviderFixtures({ ...compact, origin: origins["op-management"]! });
  const issuing = new ProviderFixtures({ ...compact, origin: origins["op-token"]! });
  for (const issuer of [fixtures, issuing]) {
    for (const revoker of [fixtures, beside]) {
      const token = await issuer.clientToken(client);
      expect([await fixtures.isActive(client, token), await beside.isActive(client, token)]).toEqual([true, true]);
      expect((await revoker.revoke(client, token)).status).toBe(200);
      expect([await fixtures.isActive(client, token), await beside.isActive(client, token)]).toEqual([false, false]);
    }
  }
});
