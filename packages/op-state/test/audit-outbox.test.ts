import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { findBreak } from "@edge-op/op-management/audit/verify-chain";
import { type AuditMessage, eventsOfMessages, type QueuedEvents } from "@edge-op/shared/audit/audit-event";
import { expect, it } from "vitest";
import { AuditOutbox } from "../src/audit/audit-outbox.ts";
import { AlarmSchedule } from "../src/wake/alarm-schedule.ts";

const { CHALLENGE_STORE, AUDIT_DB } = env as unknown as {
  CHALLENGE_STORE: DurableObjectNamespace;
  AUDIT_DB: D1Database;
};
const name = "revocation:g1:wnam:0";
const start = Date.parse("2030-01-01T00:00:00Z");

/** An outbox in a real object; the Queue is a list, or a failure. */
class Fixtures {
  readonly messages: QueuedEvents[][] = [];
  queueFails = false;
  readonly ctx: DurableObjectState;
  outbox: AuditOutbox;
  alarms: AlarmSchedule;

  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
    this.alarms = new AlarmSchedule(ctx);
    this.outbox = this.restart(name);
  }

  /** An alarm may start an instance that does not know its name. */
  restart(given?: string): AuditOutbox {
    const queue = {
      sendBatch: async (messages: Iterable<{ body: QueuedEvents }>) => {
        if (this.queueFails) throw new Error("queue is down");
        this.messages.push([...messages].map(({ body }) => body));
      },
    };
    const bindings = { AUDIT_QUEUE: queue as unknown as Queue, AUDIT_DB };
    this.alarms = new AlarmSchedule(this.ctx);
    this.outbox = new AuditOutbox(this.ctx, bindings, given, this.alarms);
    return this.outbox;
  }

  append(count: number): void {
    for (let index = 0; index < count; index += 1) {
      this.ctx.storage.transactionSync(() => this.outbox.append({ type: "revoked", payload: { index } }, start));
    }
  }

  get batches(): AuditMessage[][] {
    return this.messages.map(eventsOfMessages);
  }

  /** The `seq`s of each batch sent so far. */
  get sent(): number[][] {
    return this.batches.map((batch) => batch.map(({ seq }) => seq));
  }

  kept(): number[] {
    const rows = this.ctx.storage.sql.exec<{ seq: number }>("SELECT seq FROM audit_outbox ORDER BY seq").toArray();
    return rows.map(({ seq }) => seq);
  }
}

function inFixtures(work: (fixtures: Fixtures) => Promise<void>): Promise<void> {
  return runInDurableObject(CHALLENGE_STORE.getByName("outbox"), (_, ctx) => work(new Fixtures(ctx)));
}

async function setWatermark(seq: number): Promise<void> {
  await AUDIT_DB.prepare("INSERT OR REPLACE INTO audit_watermarks (shard, seq) VALUES (?1, ?2)").bind(name, seq).run();
}

it("A1: an event is committed with its change or not at all", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(1);
    expect(() =>
      fixtures.ctx.storage.transactionSync(() => {
        fixtures.outbox.append({ type: "revoked", payload: {} }, start);
        throw new Error("the change failed");
      }),
    ).toThrow("the change failed");
    fixtures.append(1);
    await fixtures.outbox.flush(start);
    expect(fixtures.sent).toEqual([[1, 2]]);
    expect(await findBreak(fixtures.batches.flat())).toBe(undefined);
  }));

it("A4: an event is sent by the object's alarm a second later, never by the request that appended it", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(1);
    await Promise.resolve();
    expect(fixtures.sent).toEqual([]);
    expect(await fixtures.ctx.storage.getAlarm()).toBe(start + 1_000);
  }));

it("A3: each event contains the previous hash, and the chain continues after a restart and after deletion", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(2);
    await fixtures.outbox.flush(start);
    await setWatermark(2);
    await fixtures.outbox.flush(start + 15_000);
    expect(fixtures.kept()).toEqual([2]);
    fixtures.restart(name);
    fixtures.append(2);
    await fixtures.outbox.flush(start + 20_000);
    expect(fixtures.sent).toEqual([
      [1, 2],
      [3, 4],
    ]);
    const events = fixtures.batches.flat();
    expect(events[0]!.previous).toBe("0".repeat(64));
    expect(events[0]!.payload).toBe('{"index":0}');
    expect(await findBreak(events)).toBe(undefined);
  }));

it("A3: an edited, removed, moved or inserted event breaks the chain", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(4);
    await fixtures.outbox.flush(start);
    const [a, b, c, d] = fixtures.batches.flat() as [AuditMessage, AuditMessage, AuditMessage, AuditMessage];
    expect(await findBreak([a, { ...b, payload: '{"index":9}' }, c, d])).toBe(2);
    expect(await findBreak([a, { ...b, atMs: start + 1 }, c, d])).toBe(2);
    expect(await findBreak([a, c, d])).toBe(2);
    expect(await findBreak([a, { ...c, seq: 2 }, { ...b, seq: 3 }, d])).toBe(2);
    expect(await findBreak([a, b, c, { ...d, shard: "revocation:g1:wnam:1" }])).toBe(4);
    expect(await findBreak([b, c, d], { seq: 1, hash: a.hash })).toBe(undefined);
  }));

it("A2: events that D1's watermark has not passed after a minute are sent again, starting at the gap", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(3);
    expect(await fixtures.outbox.flush(start)).toBe(start + 15_000);
    await setWatermark(1);
    expect(await fixtures.outbox.flush(start + 15_000)).toBe(start + 30_000);
    expect(fixtures.sent).toEqual([[1, 2, 3]]);
    await fixtures.outbox.flush(start + 74_999);
    expect(fixtures.sent).toEqual([[1, 2, 3]]);
    await fixtures.outbox.flush(start + 75_000 + 15_000);
    expect(fixtures.sent).toEqual([
      [1, 2, 3],
      [2, 3],
    ]);
    await setWatermark(3);
    expect(await fixtures.outbox.flush(start + 105_000)).toBe(undefined);
    expect(fixtures.kept()).toEqual([3]);
  }));

it("A2: a steady stream of new events does not postpone resending lost ones", () =>
  inFixtures(async (fixtures) => {
    for (let second = 0; second <= 75; second += 1) {
      fixtures.append(1);
      await fixtures.outbox.flush(start + second * 1_000);
    }
    expect(fixtures.sent.filter((batch) => batch.includes(1))).toHaveLength(2);
  }));

it("A2: a failing Queue loses nothing: the alarm's next flush sends the events", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(2);
    fixtures.queueFails = true;
    await expect(fixtures.outbox.flush(start)).rejects.toThrow("queue is down");
    fixtures.queueFails = false;
    await fixtures.outbox.flush(start + 5_000);
    expect(fixtures.sent).toEqual([[1, 2]]);
  }));

it("a watermark beyond the existing events deletes nothing", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(2);
    await fixtures.outbox.flush(start);
    await setWatermark(99);
    await fixtures.outbox.flush(start + 15_000);
    fixtures.append(1);
    // In flight, not acknowledged: the outbox will check again.
    expect(await fixtures.outbox.flush(start + 16_000)).toBe(start + 31_000);
    expect(fixtures.sent).toEqual([[1, 2], [3]]);
    expect(fixtures.kept()).toEqual([2, 3]);
  }));

it("a Queue's batch holds at most a hundred events, fewer with long payloads", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(250);
    await fixtures.outbox.flush(start);
    expect(fixtures.sent.map((batch) => batch.length)).toEqual([100, 100, 50]);
    for (let index = 0; index < 8; index += 1) {
      fixtures.outbox.append({ type: "revoked", payload: { reason: "x".repeat(20_000) } }, start);
    }
    await fixtures.outbox.flush(start + 1_000);
    expect(fixtures.sent.slice(3).map((batch) => batch.length)).toEqual([3, 3, 2]);
  }));

it("events share messages of 16,000 characters at most", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(70);
    await fixtures.outbox.flush(start);
    expect(fixtures.messages.map((batch) => batch.map(({ more = [] }) => 1 + more.length))).toEqual([[30, 30, 10]]);
    expect(await findBreak(fixtures.batches.flat())).toBe(undefined);
  }));

it("events that were not stored are sent again in messages of their own, for an hour", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(3);
    await fixtures.outbox.flush(start);
    await setWatermark(1);
    await fixtures.outbox.flush(start + 15_000);
    await fixtures.outbox.flush(start + 90_000);
    await setWatermark(3);
    await fixtures.outbox.flush(start + 110_000);
    const later = start + 90_000 + 3_600_000;
    for (const atMs of [later - 1, later]) {
      fixtures.append(2);
      await fixtures.outbox.flush(atMs);
    }
    expect(fixtures.messages.map((batch) => batch.map(({ more = [] }) => 1 + more.length))).toEqual([
      [3],
      [1, 1],
      [1, 1],
      [2],
    ]);
  }));

it("an object that has just sent events gathers further ones for ten seconds, whatever its clock does", () =>
  inFixtures(async (fixtures) => {
    const alarmAfter = async (sentAtMs: number) => {
      await fixtures.ctx.storage.deleteAlarm();
      fixtures.restart(name);
      fixtures.append(1);
      await fixtures.outbox.flush(sentAtMs);
      await fixtures.ctx.storage.deleteAlarm();
      // The schedule remembers the alarm that it has set, until it fires.
      await fixtures.alarms.run([]);
      fixtures.append(1);
      await Promise.resolve();
      return fixtures.ctx.storage.getAlarm();
    };
    expect(await alarmAfter(start - 2_000)).toBe(start + 8_000);
    expect(await alarmAfter(start - 9_500)).toBe(start + 1_000);
    expect(await alarmAfter(start + 3_600_000)).toBe(start + 10_000);
  }));

it("a payload too long for the Queue is replaced by its hash instead of stopping the outbox", () =>
  inFixtures(async (fixtures) => {
    fixtures.outbox.append({ type: "revoked", payload: { reason: "x".repeat(40_000) } }, start);
    await fixtures.outbox.flush(start);
    expect(fixtures.batches[0]![0]!.payload).toMatch(/^\{"omittedSha256":"[0-9a-f]{64}"\}$/);
  }));

const links = (fixtures: Fixtures) => fixtures.batches.flat().map(({ shard, seq, floor }) => ({ shard, seq, floor }));

it("ADR 35: each event contains the seq up to which its outbox has deleted", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(2);
    await fixtures.outbox.flush(start);
    await setWatermark(2);
    await fixtures.outbox.flush(start + 15_000);
    fixtures.append(1);
    await fixtures.outbox.flush(start + 16_000);
    expect(links(fixtures).map(({ seq, floor }) => [seq, floor])).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
    ]);
  }));

it("ADR 35: after D1 was restored, every held event is sent again, and acknowledged when D1 has it", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(3);
    await fixtures.outbox.flush(start);
    await setWatermark(3);
    await fixtures.outbox.flush(start + 15_000);
    await setWatermark(1);
    fixtures.append(1);
    await fixtures.outbox.flush(start + 20_000);
    expect(await fixtures.outbox.flush(start + 35_000)).toBe(start + 50_000);
    expect(fixtures.sent).toEqual([[1, 2, 3], [4], [3, 4]]);
    expect(fixtures.batches[2]!.map(({ floor }) => floor)).toEqual([2, 2]);
    // The consumer has not processed it yet: it is sent again after a minute, not at each check.
    await fixtures.outbox.flush(start + 50_000);
    expect(fixtures.sent).toHaveLength(3);
    await setWatermark(4);
    expect(await fixtures.outbox.flush(start + 65_000)).toBe(undefined);
    expect(fixtures.kept()).toEqual([4]);
  }));

it("A3: an instance that an alarm starts without its name continues the same chain", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(1);
    fixtures.restart(undefined);
    fixtures.append(1);
    await fixtures.outbox.flush(start);
    expect(links(fixtures)).toEqual([
      { shard: name, seq: 1, floor: 0 },
      { shard: name, seq: 2, floor: 0 },
    ]);
    expect(await findBreak(fixtures.batches.flat())).toBe(undefined);
  }));

it("A3: an outbox without a stored name chains and sends nothing until a request provides it", () =>
  inFixtures(async (fixtures) => {
    fixtures.append(1);
    fixtures.ctx.storage.sql.exec("DELETE FROM audit_name");
    fixtures.restart(undefined);
    expect(() => fixtures.append(1)).toThrow("name");
    expect(await fixtures.outbox.flush(start)).toBe(start + 60_000);
    expect(fixtures.batches).toEqual([]);
    fixtures.restart(name);
    await fixtures.outbox.flush(start + 60_000);
    expect(links(fixtures)).toEqual([{ shard: name, seq: 1, floor: 0 }]);
  }));
