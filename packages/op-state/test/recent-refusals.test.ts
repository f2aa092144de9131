import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ReportedRefusal } from "@edge-op/shared/audit/audit-log-rpc";
import type { ControlPlaneRpc } from "@edge-op/shared/control/control-plane-rpc";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import { describe, expect, it } from "vitest";
import { fairLevel, RecentRefusals } from "../src/audit/recent-refusals.ts";

const { CONTROL_PLANE } = env as unknown as { CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc> };
const start = Date.parse("2026-11-24T08:00:00Z");
const day = 86_400_000;
let requests = 0;

function refusal(more: Partial<ReportedRefusal> = {}): ReportedRefusal {
  requests += 1;
  return {
    ...{ atMs: start, requestId: `r${requests}`, endpoint: "/token", method: "POST", clientId: "app" },
    ...{ isAuthenticated: false, isKnownClient: true, code: "invalid_client", reason: "client-secret-wrong" },
    ...{ detail: "The client secret is wrong or has expired.", sent: {} },
    ...more,
  };
}

/** One refusal every so often, so that its rate is never the limit. */
function fill(
  refusals: RecentRefusals,
  count: number,
  of: (index: number) => Partial<ReportedRefusal>,
  fromMs = start,
) {
  for (let index = 0; index < count; index += 1) refusals.record([refusal(of(index))], 0, fromMs + index * 2_000);
}

const control = () => CONTROL_PLANE.getByName(controlPlaneName);

/** Runs with the storage of an object, as its class does. */
function withRefusals(work: (refusals: RecentRefusals, storage: DurableObjectStorage) => void): Promise<void> {
  return runInDurableObject(control(), (_, ctx) => work(new RecentRefusals(ctx.storage), ctx.storage));
}

function countOf({ sql }: DurableObjectStorage, condition = "1"): number {
  return sql.exec<{ rows: number }>(`SELECT COUNT(*) AS rows FROM refusals WHERE ${condition}`).one().rows;
}

describe("the recent refusals (ADR 57)", () => {
  it("are listed newest first, by request, by client and by page", () =>
    withRefusals((refusals) => {
      const of = ["app", "other", "app"].map((clientId) => refusal({ clientId }));
      for (const one of of) refusals.record([one], 0, start);
      const ids = of.map(({ requestId }) => requestId);
      const listed = (query: object) => refusals.list({ limit: 10, ...query }).map(({ requestId }) => requestId);
      expect(listed({})).toEqual(ids.toReversed());
      expect(listed({ clientId: "app" })).toEqual([ids[2], ids[0]]);
      expect(listed({ requestId: ids[1] })).toEqual([ids[1]]);
      expect(listed({ requestId: ids[1], clientId: "app" })).toEqual([]);
      const [newest] = refusals.list({ limit: 1 });
      expect(listed({ before: newest!.id })).toEqual([ids[1], ids[0]]);
    }));

  it("a request id that is a pattern or SQL is only a text", () =>
    withRefusals((refusals) => {
      refusals.record([refusal()], 0, start);
      for (const requestId of ["%", "r_", "' OR 1=1 --", ""])
        expect(refusals.list({ requestId, limit: 10 })).toEqual([]);
    }));

  it("end after a day, in the alarm; the clock of a machine that runs ahead ends none", () =>
    withRefusals((refusals, storage) => {
      expect(refusals.record([refusal()], 0, start)).toEqual({ isBusy: false, dueMs: start + day });
      refusals.record([refusal()], 0, start + 1_000);
      expect(refusals.sweep(start + 2 * day, start + 1)).toBe(start + 2 * day + 1_000);
      expect(countOf(storage)).toBe(2);
      expect(refusals.sweep(start + day, start + day)).toBe(start + day + 1_000);
      expect(countOf(storage)).toBe(1);
      expect(refusals.sweep(start + 3 * day, start + 3 * day)).toBeUndefined();
      expect(countOf(storage)).toBe(0);
    }));

  it("a noisy client displaces its own rows, and no other client's", () =>
    withRefusals((refusals, storage) => {
      fill(refusals, 40, (index) => ({ clientId: `quiet-${index % 4}` }));
      fill(refusals, 8_000, () => ({ clientId: "noisy" }), start + 100_000);
      expect(countOf(storage, "client LIKE 'quiet%'")).toBe(40);
      expect(countOf(storage)).toBeLessThanOrEqual(7_500);
      expect(countOf(storage, "client = 'noisy'")).toBeGreaterThan(6_000);
      // The newest refusals of the noisy client are kept.
      expect(refusals.list({ clientId: "noisy", limit: 1 })[0]!.requestId).toBe(`r${requests}`);
    }));

  it("senders that name no client, or ever new ones, displace no client that exists", () =>
    withRefusals((refusals, storage) => {
      fill(refusals, 50, () => ({}));
      fill(refusals, 3_000, (index) => ({ clientId: `invented-${index}`, isKnownClient: false }), start + 200_000);
      expect(countOf(storage, "is_known = 1")).toBe(50);
      expect(countOf(storage, "is_known = 0")).toBeLessThanOrEqual(2_500);
      expect(countOf(storage, "is_known = 0")).toBeGreaterThan(2_000);
    }));

  it("more clients than rows: the oldest rows end", () =>
    withRefusals((refusals, storage) => {
      fill(refusals, 7_600, (index) => ({ clientId: `c${index}` }));
      expect(countOf(storage)).toBeLessThanOrEqual(7_500);
      expect(countOf(storage)).toBeGreaterThan(6_700);
      expect(countOf(storage, "client = 'c7599'")).toBe(1);
      expect(countOf(storage, "client = 'c0'")).toBe(0);
    }));

  it("a flood of a minute is counted, not stored, and the next row has the number", () =>
    withRefusals((refusals, storage) => {
      const flood = Array.from({ length: 400 }, () => refusal({ isKnownClient: false, clientId: undefined }));
      expect(refusals.record(flood, 600, start).isBusy).toBe(true);
      expect(countOf(storage)).toBe(100);
      refusals.record([refusal()], 0, start);
      expect(refusals.list({ limit: 200 }).map(({ omittedBefore }) => omittedBefore)).toEqual([
        ...Array.from({ length: 100 }, () => 0),
        600 + 300,
      ]);
      // One client alone does not use up the rate of all.
      expect(
        refusals.record(
          Array.from({ length: 200 }, () => refusal()),
          0,
          start,
        ).isBusy,
      ).toBe(true);
      expect(refusals.record([refusal({ clientId: "quiet" })], 0, start).isBusy).toBe(false);
    }));

  it("a row has 4 KiB at most: a longer one is stored without what was sent", () =>
    withRefusals((refusals, storage) => {
      const long = Array.from({ length: 16 }, () => "x".repeat(200));
      refusals.record([refusal({ sent: { scope: long, resource: long }, detail: "y".repeat(1_000) })], 0, start);
      expect(refusals.list({ limit: 1 })[0]).toMatchObject({ sent: {}, detail: "y".repeat(1_000) });
      expect(
        storage.sql.exec<{ most: number }>("SELECT MAX(length(refusal)) AS most FROM refusals").one().most,
      ).toBeLessThan(4_096);
    }));

  it("survive an eviction of the object, which counts its rows again", async () => {
    const report = { tokens: [], omittedTokens: 0, omittedRefusals: 0 };
    const one = refusal({ atMs: Date.now() });
    expect(await control().report({ ...report, refusals: [one] })).toEqual({ pauseMs: 0 });
    await evictDurableObject(control());
    expect(await control().report({ ...report, refusals: [refusal({ atMs: Date.now() })] })).toEqual({ pauseMs: 0 });
    expect(await control().refusals({ requestId: one.requestId, limit: 2 })).toMatchObject([
      { ...one, omittedBefore: 0 },
    ]);
    expect(await control().refusals({ clientId: "app", limit: 5 })).toHaveLength(2);
    await runDurableObjectAlarm(control());
    expect(await control().refusals({ clientId: "app", limit: 5 })).toHaveLength(2);
  });
});

describe("the fair level", () => {
  it.each([
    [[1, 2, 100], 50, 47],
    [[10, 10, 10], 15, 5],
    [[1, 1], 5, Number.POSITIVE_INFINITY],
    [[], 5, Number.POSITIVE_INFINITY],
    [[100], 0, 0],
  ])("of %j with %i rows in all is %f", (counts, target, level) => {
    expect(fairLevel(counts, target)).toBe(level);
    const kept = counts.reduce((sum, count) => sum + Math.min(count, level), 0);
    expect(kept).toBeLessThanOrEqual(Math.max(target, 0));
  });
});
