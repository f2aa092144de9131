import { writeEvents } from "@edge-op/op-management/audit/write-events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  AUDIT_DB,
  changeClients,
  DB,
  inPipeline,
  Kill,
  Killed,
  logged,
  noKill,
  type Pipeline,
  type Reader,
  rememberAuditDatabase,
  review,
  type Writer,
} from "./fixtures/audit-fixtures.ts";

/** Follows an event from its row in D1 to the audit log, with a kill before and after each step, and with restored databases. */
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

const changed = (...numbers: number[]) => numbers.map((number) => `client.update c${number}`);

/** Makes two changes, killed at one step, then one more. Returns whether there was such a step. */
async function killAt(pipeline: Pipeline, at: number, when: "before" | "after"): Promise<boolean> {
  await changeClients(1, 2);
  const kill = new Kill(at, when);
  let wasKilled = false;
  try {
    await pipeline.turn(kill);
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    wasKilled = true;
  }
  await changeClients(3, 1);
  await pipeline.settle();
  return wasKilled;
}

async function stepsOfOneTurn(): Promise<number> {
  const kill = noKill();
  await inPipeline(async (pipeline) => {
    await changeClients(1, 2);
    await pipeline.turn(kill);
  });
  await clear();
  return kill.steps;
}

async function clear(): Promise<void> {
  for (const table of ["audit_events", "audit_watermarks", "audit_gaps", "audit_anchors"]) {
    await AUDIT_DB.prepare(`DELETE FROM ${table}`).run();
  }
  await DB.prepare("DELETE FROM admin_events").run();
  await DB.prepare("DELETE FROM sqlite_sequence WHERE name = 'admin_events'").run();
}

/** The kill points after which the log is not exactly the three changes in one valid chain. */
async function findFaults(write?: Writer): Promise<string[]> {
  const faults: string[] = [];
  const steps = await stepsOfOneTurn();
  expect(steps).toBeGreaterThanOrEqual(6);
  for (let at = 1; at <= steps; at += 1) {
    for (const when of ["before", "after"] as const) {
      await inPipeline(async (pipeline) => {
        const isKilled = await killAt(pipeline, at, when);
        expect(isKilled).toBe(true);
      }, write).catch((error: unknown) => faults.push(`${when} ${at}: ${String(error)}`));
      const events = await logged();
      const { broken, gaps } = await review();
      if (String(events) !== String(changed(1, 2, 3))) faults.push(`${when} ${at}: ${events}`);
      else if (broken !== undefined || gaps.length > 0) faults.push(`${when} ${at}: ${JSON.stringify(broken)}`);
      await clear();
    }
  }
  return faults;
}

describe("a kill between any two steps", () => {
  it("loses and repeats nothing: every change is in one valid chain, once", async () => {
    expect(await findFaults()).toEqual([]);
  });

  it("is detected by this test: a consumer that writes events again", async () => {
    const forgetful: Writer = async (database, events, atMs) => {
      const copies = events.map((event) => ({ ...event, shard: `${event.shard}-${Math.random()}` }));
      return writeEvents(database, copies, atMs);
    };
    expect((await findFaults(forgetful)).length).toBeGreaterThan(0);
  });

  it("A2: an event that was acknowledged to the queue but not written is sent again", async () => {
    let isLost = false;
    const careless: Writer = async (database, events, atMs) => {
      const kept = isLost ? events : events.slice(1);
      isLost = true;
      return writeEvents(database, kept, atMs);
    };
    await inPipeline(async (pipeline) => {
      await changeClients(1, 2);
      await pipeline.settle();
    }, careless);
    expect(await logged()).toEqual(changed(2, 1));
    expect((await review()).broken).toBeUndefined();
  });
});

describe("ADR 34: the consumer of the previous release", () => {
  const firstOnly: Reader = (messages) => messages.map(({ more: _, ...event }) => event);

  it("stores one event of each message, and gets the others again, in messages of their own", () =>
    inPipeline(
      async (pipeline) => {
        await changeClients(1, 9);
        await pipeline.settle();
        expect(await logged()).toEqual(changed(1, 2, 3, 4, 5, 6, 7, 8, 9));
        const { broken, gaps } = await review();
        expect([broken, gaps]).toEqual([undefined, []]);
      },
      writeEvents,
      firstOnly,
    ));
});

describe("ADR 35: a database is restored to an earlier time", () => {
  it("the audit database: events that no outbox holds are a recorded gap, the loss is an event, and the chain continues", () =>
    inPipeline(async (pipeline) => {
      await changeClients(1, 2);
      await pipeline.settle();
      const restore = await rememberAuditDatabase();
      await changeClients(3, 3);
      await pipeline.settle();
      await pipeline.instance().watch.look(pipeline.nowMs);
      await restore();
      expect(await logged()).toEqual(changed(1, 2));

      expect(await pipeline.instance().watch.look(pipeline.nowMs)).toBe(true);
      await changeClients(6, 1);
      await pipeline.settle();
      // The newest event is still in its outbox, as the anchor of the chain: c5 is sent again, c3 and c4 are lost.
      expect(await logged()).toEqual([...changed(1, 2), "audit.set-back", ...changed(6, 5)]);
      const { broken, gaps } = await review();
      expect(broken).toBeUndefined();
      expect(gaps).toEqual([{ shard: "audit", fromSeq: 3, toSeq: 4 }]);
      expect(errors.map((line) => JSON.parse(line))).toEqual([
        { event: "audit-set-back", database: "AUDIT_DB", known: 5, found: 2 },
      ]);
      expect(await pipeline.instance().watch.look(pipeline.nowMs)).toBe(false);
    }));

  it("the audit database grew again to the same length: the chain value differs", () =>
    inPipeline(async (pipeline) => {
      await changeClients(1, 1);
      await pipeline.settle();
      const restore = await rememberAuditDatabase();
      await changeClients(2, 1);
      await pipeline.settle();
      await pipeline.instance().watch.look(pipeline.nowMs);
      await restore();
      await changeClients(3, 2);
      await pipeline.settle();
      expect(await pipeline.instance().watch.look(pipeline.nowMs)).toBe(true);
    }));

  it("the control database: lost rows stay in the log, and new rows with their numbers are added", () =>
    inPipeline(async (pipeline) => {
      await changeClients(1, 5);
      await pipeline.settle();
      await DB.prepare("DELETE FROM admin_events WHERE seq > 2").run();
      await DB.prepare("UPDATE sqlite_sequence SET seq = 2 WHERE name = 'admin_events'").run();
      await changeClients(6, 4);
      await pipeline.settle();
      expect(await logged()).toEqual([...changed(1, 2, 3, 4, 5), "admin-events.set-back", ...changed(6, 7, 8, 9)]);
      expect((await review()).broken).toBeUndefined();
      expect(errors.map((line) => JSON.parse(line))).toEqual([
        { event: "audit-set-back", database: "DB", known: 5, found: 2 },
      ]);
    }));

  it("the control database, to a time before every row: nothing is repeated", () =>
    inPipeline(async (pipeline) => {
      await changeClients(1, 3);
      await pipeline.settle();
      await DB.prepare("DELETE FROM admin_events").run();
      await DB.prepare("DELETE FROM sqlite_sequence WHERE name = 'admin_events'").run();
      await pipeline.settle();
      await changeClients(4, 1);
      await pipeline.settle();
      expect(await logged()).toEqual([...changed(1, 2, 3), "admin-events.set-back", ...changed(4)]);
    }));
});

describe("A3: the chain", () => {
  const brokenAfter = (sql: string) => async () => {
    await inPipeline(async (pipeline) => {
      await changeClients(1, 5);
      await pipeline.settle();
    });
    await AUDIT_DB.prepare(sql).run();
    return (await review()).broken;
  };

  it.each([
    ["an edited event", `UPDATE audit_events SET payload = '{}' WHERE position = 3`, 3],
    ["a removed event", "DELETE FROM audit_events WHERE position = 3", 3],
    ["a changed time", "UPDATE audit_events SET at_ms = 1 WHERE position = 4", 4],
    ["a changed chain value", "UPDATE audit_events SET chain = zeroblob(32) WHERE position = 2", 2],
    ["a changed link", "UPDATE audit_events SET previous = zeroblob(32) WHERE position = 5", 5],
  ])("%s is identified", async (_, sql, position) => {
    expect((await brokenAfter(sql)())?.position).toBe(position);
  });

  it("a removed event is identified even if somebody has recorded a gap for it", async () => {
    const broken = await brokenAfter("DELETE FROM audit_events WHERE position = 3")();
    await AUDIT_DB.prepare("INSERT INTO audit_gaps VALUES ('audit', 3, 3, 0)").run();
    expect((await review()).broken).toEqual(broken);
  });
});
