import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type AuditGap, type AuditMessage, chainStart } from "@edge-op/shared/audit/audit-event";
import type { ManagementEnv } from "@edge-op/workers/env";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createAuditConsumer } from "../src/audit/audit-consumer.ts";
import { findBreak, hashEvent, reviewChain } from "../src/audit/verify-chain.ts";

const bindings = env as unknown as ManagementEnv;
const { AUDIT_DB } = bindings;
const consumeAudit = createAuditConsumer();
const shard = "revocation:g1:wnam:0";
let errors: string[];

beforeEach(() => {
  errors = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => {
    errors.push(line);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** A history of `count` events, chained like those of an outbox. */
async function history(count: number, name = shard): Promise<AuditMessage[]> {
  const events: AuditMessage[] = [];
  for (let seq = 1; seq <= count; seq += 1) {
    const previous = events.at(-1)?.hash ?? chainStart;
    const link = {
      shard: name,
      seq,
      atMs: 1_000 + seq,
      type: "revoked",
      payload: `{"index":${seq}}`,
      previous,
      floor: 0,
    };
    events.push({ ...link, hash: await hashEvent(link) });
  }
  return events;
}

function consume(...events: (AuditMessage | undefined)[]): Promise<void> {
  return consumeAudit(
    events.filter((event) => event !== undefined),
    bindings,
    createExecutionContext(),
  );
}

async function stored(name = shard): Promise<AuditMessage[]> {
  const { results } = await AUDIT_DB.prepare(
    `SELECT shard, seq, at_ms AS atMs, type, payload, lower(hex(previous)) AS previous, lower(hex(hash)) AS hash, 0 AS floor
       FROM audit_events WHERE shard = ?1 ORDER BY seq`,
  )
    .bind(name)
    .all<AuditMessage>();
  return results;
}

async function watermark(name = shard): Promise<number | undefined> {
  const row = await AUDIT_DB.prepare("SELECT seq FROM audit_watermarks WHERE shard = ?1")
    .bind(name)
    .first<{ seq: number }>();
  return row?.seq;
}

it("A1: events are written as sent, and the watermark includes them", async () => {
  const events = await history(3);
  await consume(...events);
  expect(await stored()).toEqual(events);
  expect(await findBreak(await stored())).toBe(undefined);
  expect(await watermark()).toBe(3);
  expect(errors).toEqual([]);
});

it("A2: the watermark stops before a lost event and moves on when it is sent again", async () => {
  const [a, b, c, d] = await history(4);
  await consume(a, c, d);
  expect(await watermark()).toBe(1);
  await consume(b, c, d);
  expect(await watermark()).toBe(4);
  expect(errors).toEqual([]);
});

it("A2: while the first event is missing, nothing is acknowledged", async () => {
  const [, b] = await history(2);
  await consume(b);
  expect(await watermark()).toBe(0);
});

it("a duplicate, in one batch or a later one, is ignored", async () => {
  const [a, b] = await history(2);
  await consume(a, a, b);
  await consume(a, b);
  expect(await stored()).toEqual([a, b]);
  expect(errors).toEqual([]);
});

it("reordered events, within a batch and across batches, end up complete", async () => {
  const [a, b, c, d] = await history(4);
  await consume(d, b);
  await consume(c, a);
  expect(await watermark()).toBe(4);
  expect(await findBreak(await stored())).toBe(undefined);
  expect(errors).toEqual([]);
});

it("each shard has its own history", async () => {
  const other = "refresh:g1:wnam:0";
  const [a] = await history(1);
  const [x, y] = await history(2, other);
  await consume(a, y, x);
  expect([await watermark(), await watermark(other)]).toEqual([1, 2]);
});

it("A3: an event changed in transit is reported and omitted, so that the outbox sends the original", async () => {
  const [a, b] = (await history(2)) as [AuditMessage, AuditMessage];
  await consume(a, { ...b, payload: '{"index":99}' });
  expect(errors).toEqual([
    `{"event":"audit-chain-broken","shard":"${shard}","seq":2,"reason":"the event is not what its outbox hashed"}`,
  ]);
  expect(await watermark()).toBe(1);
  await consume(b);
  expect(await stored()).toEqual([a, b]);
});

it("A3: a history edited in D1, with its hash, is reported when the next event comes", async () => {
  const [a, b] = (await history(2)) as [AuditMessage, AuditMessage];
  const edited = { ...a, payload: '{"index":99}' };
  await consume({ ...edited, hash: await hashEvent(edited) });
  await consume(b);
  expect(errors).toEqual([
    `{"event":"audit-chain-broken","shard":"${shard}","seq":2,"reason":"the event before is not its own"}`,
  ]);
  expect(await watermark()).toBe(2);
});

it("A3: a late event that its successor does not follow is reported too", async () => {
  const [a, b] = (await history(2)) as [AuditMessage, AuditMessage];
  await consume(b);
  const edited = { ...a, payload: '{"index":99}' };
  await consume({ ...edited, hash: await hashEvent(edited) });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain('"seq":2');
});

it("A3: a second event at an occupied position changes nothing and is reported", async () => {
  const [a] = (await history(1)) as [AuditMessage];
  const other = { ...a, payload: '{"index":99}' };
  await consume(a);
  await consume({ ...other, hash: await hashEvent(other) });
  expect(await stored()).toEqual([a]);
  expect(errors).toEqual([
    `{"event":"audit-chain-broken","shard":"${shard}","seq":1,"reason":"another event has this place"}`,
  ]);
});

it("A1: the events of a message are written in their order, more of them than one transaction takes", async () => {
  const [first, ...more] = (await history(450)) as [AuditMessage, ...AuditMessage[]];
  const [other] = (await history(1, "refresh:g1:wnam:0")) as [AuditMessage];
  await consumeAudit([{ ...first, more }, other], bindings, createExecutionContext());
  expect(await stored()).toEqual([first, ...more]);
  expect(await watermark()).toBe(450);
  expect(await watermark(other.shard)).toBe(1);
  expect(errors).toEqual([]);
});

it("events with the longest payloads are more than one transaction", async () => {
  const events: AuditMessage[] = [];
  for (let seq = 1; seq <= 80; seq += 1) {
    const payload = JSON.stringify({ text: "ü".repeat(29_000) });
    const link = {
      shard,
      seq,
      atMs: seq,
      type: "revoked",
      payload,
      previous: events.at(-1)?.hash ?? chainStart,
      floor: 0,
    };
    events.push({ ...link, hash: await hashEvent(link) });
  }
  await consume(...events);
  expect(await watermark()).toBe(80);
});

it("A batch of the largest size is one transaction", async () => {
  const events = await history(100);
  await consume(...events);
  expect(await watermark()).toBe(100);
});

it("a failure of D1 throws, so that the Queue sends the batch again", async () => {
  const [a] = await history(1);
  await AUDIT_DB.exec("DROP TABLE audit_events");
  await expect(consume(a)).rejects.toMatchObject({
    store: "AUDIT_DB",
    cause: { message: expect.stringContaining("no such table") },
  });
  expect(errors.map((line) => JSON.parse(line))).toEqual([
    { event: "unavailable", store: "AUDIT_DB", cause: expect.stringContaining("no such table") },
  ]);
});

async function gaps(name = shard): Promise<AuditGap[]> {
  const { results } = await AUDIT_DB.prepare(
    "SELECT from_seq AS fromSeq, to_seq AS toSeq FROM audit_gaps WHERE shard = ?1 ORDER BY from_seq",
  )
    .bind(name)
    .all<AuditGap>();
  return results;
}

/** Restores the log like Time Travel: events, watermark and gaps of an earlier time. */
async function setBackTo(seq: number): Promise<void> {
  await AUDIT_DB.batch([
    AUDIT_DB.prepare("DELETE FROM audit_events WHERE seq > ?1").bind(seq),
    AUDIT_DB.prepare("DELETE FROM audit_gaps"),
    AUDIT_DB.prepare("UPDATE audit_watermarks SET seq = ?1").bind(seq),
  ]);
}

const withFloor = (events: readonly AuditMessage[], floor: number) => events.map((event) => ({ ...event, floor }));

it("ADR 35: events that D1 lost and no outbox holds are one recorded gap, and the watermark continues after it", async () => {
  const events = await history(9);
  await consume(...withFloor(events.slice(0, 7), 0));
  await setBackTo(3);
  await consume(...withFloor(events.slice(6, 8), 6));
  expect(await gaps()).toEqual([{ fromSeq: 4, toSeq: 6 }]);
  expect(await watermark()).toBe(8);
  expect(errors.map((line) => JSON.parse(line))).toEqual([{ event: "audit-gap", shard, fromSeq: 4, toSeq: 6 }]);

  await consume(...withFloor(events.slice(6, 9), 7));
  expect(await gaps()).toEqual([{ fromSeq: 4, toSeq: 6 }]);
  expect(await watermark()).toBe(9);
  expect(await findBreak(await stored())).toBe(4);
  expect(await reviewChain(await stored(), await gaps())).toEqual({
    brokenAt: undefined,
    gaps: [{ fromSeq: 4, toSeq: 6 }],
  });
});

it("ADR 35: a gap around stored events is split, and late events are no longer missing", async () => {
  const events = await history(8);
  await consume(...withFloor([events[0]!, events[3]!], 0));
  await consume(...withFloor([events[7]!], 6));
  expect(await gaps()).toEqual([
    { fromSeq: 2, toSeq: 3 },
    { fromSeq: 5, toSeq: 6 },
  ]);
  expect(await watermark()).toBe(6);
  await consume(...withFloor([events[6]!, events[1]!, events[2]!], 0));
  expect(await watermark()).toBe(8);
  expect(await reviewChain(await stored(), await gaps())).toEqual({
    brokenAt: undefined,
    gaps: [{ fromSeq: 5, toSeq: 6 }],
  });
});

it("ADR 35: a D1 without any history of the shard gets a gap from the first event on", async () => {
  const events = await history(4);
  await consume(...withFloor(events.slice(2), 2));
  expect(await gaps()).toEqual([{ fromSeq: 1, toSeq: 2 }]);
  expect(await watermark()).toBe(4);
});

it("ADR 35: without a restored D1, no floor creates a gap: events above it will be sent again", async () => {
  const events = await history(5);
  await consume(...withFloor(events.slice(0, 2), 0));
  await consume(...withFloor([events[4]!], 2));
  await consume(...withFloor([events[3]!], 1));
  expect(await gaps()).toEqual([]);
  expect(await watermark()).toBe(2);
  await consume(...withFloor([events[2]!], 2));
  expect(await watermark()).toBe(5);
});

it("ADR 35: a floor that is not below its own event is ignored", async () => {
  const [first] = await history(1);
  await consume({ ...first!, floor: 1_000 });
  expect(await gaps()).toEqual([]);
  expect(await watermark()).toBe(1);
});

it("A3: a gap excuses only the missing events", async () => {
  const events = await history(6);
  const recorded = [{ fromSeq: 3, toSeq: 4 }];
  const kept = events.filter(({ seq }) => seq !== 3 && seq !== 4);
  const brokenAt = async (changed: readonly AuditMessage[]) => (await reviewChain(changed, recorded)).brokenAt;
  expect(await brokenAt(kept)).toBe(undefined);
  expect(await brokenAt(events)).toBe(undefined);
  expect(await brokenAt(kept.filter(({ seq }) => seq !== 5))).toBe(3);
  expect(await brokenAt(kept.filter(({ seq }) => seq !== 2))).toBe(2);
  expect(await brokenAt(kept.map((event) => (event.seq === 5 ? { ...event, payload: "{}" } : event)))).toBe(5);
  expect(await brokenAt(kept.map((event) => (event.seq === 6 ? { ...event, previous: chainStart } : event)))).toBe(6);
});

it("D1 counts six rows for an event that is written, as the model of the cost does, and one when it is deleted", async () => {
  const payload = { sub: "alice", clientId: "app", requestId: "r" };
  const [event] = (await history(1)) as [AuditMessage];
  const columns = "position, shard, seq, at_ms, type, payload, previous, hash, chain";
  const insert = AUDIT_DB.prepare(`INSERT INTO audit_events (${columns}) VALUES (1, ?1, 1, 1, ?2, ?3, x'', x'', x'')`);
  const written = await insert.bind(event.shard, event.type, JSON.stringify(payload)).run();
  const deleted = await AUDIT_DB.prepare("DELETE FROM audit_events").run();
  expect([written.meta.rows_written, deleted.meta.rows_written]).toEqual([6, 1]);
});
