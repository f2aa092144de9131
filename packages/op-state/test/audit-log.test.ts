import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { writeEvents } from "@edge-op/op-management/audit/write-events";
import type { AuditMessage } from "@edge-op/shared/audit/audit-event";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { sweepAuditLog } from "../src/audit/audit-retention.ts";
import { ReportPace } from "../src/audit/issued-tokens.ts";
import { AUDIT_DB, changeClients, history, logged, review, start } from "./fixtures/audit-fixtures.ts";

/** Maintenance of the audit log: retention without an archive, and what `ControlPlane` records. */
const { CONTROL_PLANE } = env as unknown as { CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc> };
const day = 86_400_000;

const write = (events: readonly AuditMessage[]) => writeEvents(AUDIT_DB, events, start);

async function positions(): Promise<number[]> {
  const { results } = await AUDIT_DB.prepare("SELECT position FROM audit_events ORDER BY position").all<{
    position: number;
  }>();
  return results.map(({ position }) => position);
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("retention", () => {
  it("deletes older events from the start of the chain, and the rest still verifies from its anchors", async () => {
    const [one, two] = await Promise.all([history("code:1", 4, day), history("session:1", 4, day)]);
    for (let index = 0; index < 4; index += 1) await write([one[index]!, two[index]!]);
    const before = await review();
    expect(await sweepAuditLog(AUDIT_DB, start + 2 * day + 1)).toBe(false);
    expect(await positions()).toEqual([5, 6, 7, 8]);
    expect(await review()).toEqual({ store: "database", from: 5, to: 8, chain: before.chain, gaps: [] });
    await AUDIT_DB.prepare("UPDATE audit_events SET previous = zeroblob(32) WHERE position = 5").run();
    expect((await review()).broken?.position).toBe(5);
  });

  it("does not write an event again that it has deleted, and keeps the newest one", async () => {
    const events = await history("code:1", 3);
    await write(events);
    await sweepAuditLog(AUDIT_DB, start + day);
    expect(await positions()).toEqual([3]);
    await write(events.slice(0, 2));
    expect(await positions()).toEqual([3]);
  });

  it("deletes thousands in bounded steps", async () => {
    const events = await history("code:1", 600);
    for (let from = 0; from < 600; from += 100) await write(events.slice(from, from + 100));
    expect(await sweepAuditLog(AUDIT_DB, start + day)).toBe(false);
    expect(await positions()).toEqual([600]);
    expect((await review()).broken).toBeUndefined();
  });
});

describe("ControlPlane", () => {
  const keeper = () => CONTROL_PLANE.getByName(controlPlaneName);

  it("copies changes when it is woken, and reports unconfirmed events", async () => {
    await changeClients(1, 2);
    await keeper().wakeAudit();
    await runDurableObjectAlarm(keeper());
    expect(await keeper().auditStatus()).toMatchObject({
      relayedSeq: 2,
      oldestUnconfirmedAtMs: start + 1,
      setBacks: 0,
    });
  });

  it("records issued tokens up to the limit, and counts the others", async () => {
    const token = { atMs: Date.now(), grantType: "client_credentials", clientId: "app", sub: "app" };
    const many = Array.from({ length: 70 }, () => token);
    const report = { refusals: [], omittedRefusals: 0 };
    expect(await keeper().report({ ...report, tokens: [token], omittedTokens: 0 })).toEqual({ pauseMs: 0 });
    expect(await keeper().report({ ...report, tokens: many, omittedTokens: 5 })).toEqual({ pauseMs: 5_000 });
    const rows = await runInDurableObject(keeper(), (_, ctx) =>
      ctx.storage.sql.exec<{ type: string }>("SELECT type FROM audit_outbox").toArray(),
    );
    expect(rows.length).toBe(60);
    expect(rows[0]).toEqual({ type: "token.issued" });
    expect(await logged()).toEqual([]);
  });

  it.each([1, 10, 1_000])("ADR 35: reports of %i isolates are ten a second at most", async (isolates) => {
    const pace = new ReportPace();
    const gatherMs = 1_000;
    const due = Array.from({ length: isolates }, () => 0);
    let reports = 0;
    // The first report of each isolate is not paced.
    for (let nowMs = 0; nowMs < 600_000; nowMs += 100) {
      for (const [index, dueMs] of due.entries()) {
        if (dueMs > nowMs) continue;
        reports += 1;
        due[index] = nowMs + gatherMs + pace.nextPlaceMs(nowMs);
      }
    }
    expect(reports).toBeLessThanOrEqual(isolates + 6_000);
    expect(reports).toBeGreaterThanOrEqual(Math.min(isolates * 300, 4_000));
  });
});
