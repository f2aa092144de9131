import { hashEvent, nextChainValue } from "@edge-op/op-management/audit/verify-chain";
import { writeEvents } from "@edge-op/op-management/audit/write-events";
import { chainStart } from "@edge-op/shared/audit/audit-event";
import { findEvents } from "@edge-op/shared/audit/find-events";
import type { EventPlace } from "@edge-op/shared/audit/list-events";
import { decodeSegment } from "@edge-op/shared/audit/segment";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AuditArchive } from "../src/audit/audit-archive.ts";
import {
  AUDIT_DB,
  AUDIT_EXPORT,
  history,
  Kill,
  noKill,
  rememberAuditDatabase,
  review,
  start,
} from "./fixtures/audit-fixtures.ts";

/** The archive of the audit log, with real stores: 12 events of two objects, six hours apart, in segments of 4. */
const day = 86_400_000;
const rules = { epoch: 0, recentDays: 1, retentionDays: 365 };
const sealedAtMs = start + 4.5 * day;
let errors: string[];

function bucketOf(kill: Kill): R2Bucket {
  return {
    get: (key: string) => kill.step(() => AUDIT_EXPORT.get(key)),
    put: (key: string, value: Uint8Array, options: R2PutOptions) =>
      kill.step(() => AUDIT_EXPORT.put(key, value, options)),
    delete: (keys: string[]) => kill.step(() => AUDIT_EXPORT.delete(keys)),
  } as unknown as R2Bucket;
}

const archive = (kill: Kill = noKill(), most = 4) => new AuditArchive(kill.database(AUDIT_DB), bucketOf(kill), most);

async function settle(nowMs: number, given = rules): Promise<void> {
  while (await archive().run(nowMs, given));
}

async function writeHistory(): Promise<void> {
  const [one, two] = await Promise.all([history("code:1", 6, day / 4), history("session:1", 6, day / 4)]);
  for (let index = 0; index < 6; index += 1) await writeEvents(AUDIT_DB, [one[index]!, two[index]!], start);
}

async function inDatabase(): Promise<number[]> {
  const { results } = await AUDIT_DB.prepare("SELECT position FROM audit_events ORDER BY position").all<{
    position: number;
  }>();
  return results.map(({ position }) => position);
}

async function inSegments(): Promise<number[]> {
  const { results } = await AUDIT_DB.prepare("SELECT key FROM audit_segments ORDER BY to_position").all<{
    key: string;
  }>();
  const read = results.map(async ({ key }) => decodeSegment(await (await AUDIT_EXPORT.get(key))!.arrayBuffer()));
  return (await Promise.all(read)).flat().map(({ position }) => position);
}

const keys = async () => (await AUDIT_EXPORT.list()).objects.map(({ key }) => key);
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Verifies the whole log, page by page. */
async function verifyAll() {
  const stores: string[] = [];
  let from: number | undefined;
  for (;;) {
    const page = await review(from, 4);
    stores.push(`${page.store} ${page.from}–${page.to}`);
    if (page.broken !== undefined || page.next === undefined) return { stores, broken: page.broken, chain: page.chain };
    from = page.next + 1;
  }
}

async function searchAll(filter: Parameters<typeof findEvents>[1], limit: number, stores = { AUDIT_DB, AUDIT_EXPORT }) {
  const found: string[] = [];
  let before: EventPlace | undefined;
  do {
    const { rows, next } = await findEvents(stores, { ...filter, before }, limit);
    found.push(...rows.map(({ position, segment }) => `${position}${segment === undefined ? "" : " archived"}`));
    before = next;
  } while (before !== undefined);
  return found;
}

beforeEach(() => {
  errors = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => {
    errors.push(line);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("sealing", () => {
  it("moves what is older than the recent days to segments, whose lines verify on their own", async () => {
    await writeHistory();
    // Noon of 2 January: 1 and 2 are 6 hours past the day, the next ones not yet.
    await settle(start + 1.5 * day);
    expect([await inDatabase(), await keys()]).toEqual([numbers(1, 12), []]);
    await settle(start + 2.4 * day);
    expect(await inDatabase()).toEqual(numbers(9, 12));
    expect(await keys()).toEqual([
      "audit/0/2030-01-01/000000000001.ndjson.gz",
      "audit/0/2030-01-01/000000000005.ndjson.gz",
      "audit/0/2030-01-01/manifest.json",
    ]);
    const object = await AUDIT_EXPORT.get("audit/0/2030-01-01/000000000005.ndjson.gz");
    const text = await new Response(object!.body.pipeThrough(new DecompressionStream("gzip"))).text();
    const manifest = JSON.parse(await (await AUDIT_EXPORT.get("audit/0/2030-01-01/manifest.json"))!.text());
    let chain: string = manifest.segments[1].before;
    for (const line of text.trimEnd().split("\n")) {
      const { payload, chain: stored, position: _, ...event } = JSON.parse(line);
      expect(await hashEvent({ ...event, payload: JSON.stringify(payload) })).toBe(event.hash);
      chain = await nextChainValue(chain, event.hash);
      expect(stored).toBe(chain);
    }
    expect(manifest.segments.map(({ from, to }: { from: number; to: number }) => [from, to])).toEqual([
      [1, 4],
      [5, 8],
    ]);
    expect([manifest.segments[0].before, manifest.segments[1].chain]).toEqual([chainStart, chain]);
  });

  it("is killed before or after each step, and loses and repeats nothing", async () => {
    await writeHistory();
    const setBack = await rememberAuditDatabase();
    const counted = noKill();
    await archive(counted, 12).run(sealedAtMs, rules);
    // Count, read, create, inspect, open, list, release, read, and what is to be deleted.
    expect(counted.steps).toBe(9);
    for (let at = 1; at <= counted.steps; at += 1) {
      for (const when of ["before", "after"] as const) {
        await setBack();
        await AUDIT_EXPORT.delete(await keys());
        await archive(new Kill(at, when), 12).run(sealedAtMs, rules);
        expect([...(await inSegments()), ...(await inDatabase())], `${when} ${at}`).toEqual(numbers(1, 12));
        await archive(noKill(), 12).run(sealedAtMs, rules);
        expect([await inSegments(), await inDatabase(), (await keys()).length]).toEqual([numbers(1, 12), [], 2]);
      }
    }
    expect((await verifyAll()).broken).toBeUndefined();
  }, 120_000);

  it("two sealers at once seal each event once", async () => {
    await writeHistory();
    await Promise.all([archive().run(sealedAtMs, rules), archive().run(sealedAtMs, rules)]);
    await settle(sealedAtMs);
    expect([await inSegments(), await inDatabase()]).toEqual([numbers(1, 12), []]);
    expect((await verifyAll()).broken).toBeUndefined();
  });

  it("new events continue the chain of a log that is all sealed, and old ones are not written again", async () => {
    await writeHistory();
    await settle(sealedAtMs);
    const events = await history("code:1", 7, day / 4);
    await writeEvents(AUDIT_DB, events, start);
    expect(await inDatabase()).toEqual([13]);
    expect(await verifyAll()).toMatchObject({
      broken: undefined,
      stores: ["archive 1–4", "archive 5–8", "archive 9–12", "database 13–13"],
    });
  });

  it("after D1 was set back, what it has again is sealed under another epoch", async () => {
    await writeHistory();
    const setBack = await rememberAuditDatabase();
    await settle(sealedAtMs);
    await setBack();
    await settle(sealedAtMs, { ...rules, epoch: 1 });
    expect([await inSegments(), (await verifyAll()).broken]).toEqual([numbers(1, 12), undefined]);
    expect((await keys()).filter((key) => key.startsWith("audit/0/")).length).toBe(5);
  });

  it.each(["get", "put"])("a bucket whose %s fails is logged, and nothing leaves D1", async (name) => {
    await writeHistory();
    const failing = { ...bucketOf(noKill()), [name]: () => Promise.reject(new Error("no bucket")) };
    expect(await new AuditArchive(AUDIT_DB, failing, 4).run(sealedAtMs, rules)).toBe(false);
    expect(await inDatabase()).toEqual(numbers(1, 12));
    expect(errors.map((line) => JSON.parse(line))).toMatchObject([
      { event: "audit-export-failed", cause: expect.stringContaining("no bucket") },
    ]);
  });
});

describe("retention in the archive", () => {
  it("deletes whole segments from the oldest on, and the manifest of a day without any; a kill repeats it", async () => {
    await writeHistory();
    await settle(sealedAtMs);
    const setBack = await rememberAuditDatabase();
    const old = { ...rules, retentionDays: 3 };
    for (const [at, when] of [
      [5, "before"],
      [5, "after"],
      [6, "before"],
      [6, "after"],
      [7, "before"],
      [7, "after"],
    ] as const) {
      await setBack();
      await archive(new Kill(at, when)).run(start + 4.1 * day, old);
      await settle(start + 4.1 * day, old);
      expect(await inSegments()).toEqual(numbers(9, 12));
      expect(await verifyAll()).toMatchObject({ broken: undefined, stores: ["archive 9–12", "database 13–12"] });
    }
    expect(await keys()).toEqual(["audit/0/2030-01-02/000000000009.ndjson.gz", "audit/0/2030-01-02/manifest.json"]);
    await settle(start + 40 * day, old);
    expect([await keys(), await verifyAll()]).toEqual([[], expect.objectContaining({ broken: undefined })]);
  });
});

describe("verification over both stores", () => {
  const second = "audit/0/2030-01-01/000000000005.ndjson.gz";
  it.each<[string, () => Promise<unknown>, number, RegExp]>([
    ["a changed object", async () => AUDIT_EXPORT.put(second, "other"), 5, /not the one that was sealed/],
    ["a missing object", () => AUDIT_EXPORT.delete(second), 5, /is missing/],
    [
      "a removed row",
      () => AUDIT_DB.prepare("DELETE FROM audit_segments WHERE to_position = 8").run(),
      5,
      /not listed/,
    ],
    [
      "a chain that is not its own",
      () => AUDIT_DB.prepare("UPDATE audit_segments SET before = zeroblob(32) WHERE to_position = 8").run(),
      5,
      /segment before/,
    ],
    [
      "another end",
      () => AUDIT_DB.prepare("UPDATE audit_anchors SET hash = zeroblob(32) WHERE shard = ''").run(),
      8,
      /do not continue/,
    ],
  ])("%s is found", async (_, tamper, position, reason) => {
    await writeHistory();
    await settle(start + 2.4 * day);
    expect((await verifyAll()).broken).toBeUndefined();
    await tamper();
    const { broken } = await review(undefined, 5_000);
    expect(broken).toEqual({ position, reason: expect.stringMatching(reason) });
  });
});

describe("search over both stores", () => {
  it.each([1, 2, 5, 50])(
    "gives each event once, the newest first, in pages of %i, and says which store has it",
    async (limit) => {
      await writeHistory();
      await settle(start + 2.4 * day);
      const all = numbers(1, 12).toReversed();
      const named = (positions: number[]) =>
        positions.map((position) => `${position}${position > 8 ? "" : " archived"}`);
      // Of one time, the later position is first.
      expect(await searchAll({}, limit)).toEqual(named(all));
      expect(await searchAll({ sub: "code:1-1" }, limit)).toEqual(named([7, 1]));
      expect(await searchAll({ sub: "session:1-0", type: "revoked" }, limit)).toEqual(named([12, 6]));
      expect(await searchAll({ sub: "session:1-0", type: "sign-in.*" }, limit)).toEqual([]);
      expect(await searchAll({ fromMs: start + day / 2, toMs: start + 1.25 * day }, limit)).toEqual(
        named([8, 7, 6, 5, 4, 3]),
      );
      expect(await searchAll({ clientId: "code:1-1" }, limit)).toEqual([]);
    },
  );

  it("reads only the objects whose filters have the person, and none without a bucket", async () => {
    await writeHistory();
    await settle(sealedAtMs);
    const counted = noKill();
    expect(await searchAll({ sub: "nobody" }, 5, { AUDIT_DB, AUDIT_EXPORT: bucketOf(counted) })).toEqual([]);
    expect(counted.steps).toBe(0);
    expect((await findEvents({ AUDIT_DB }, {}, 5)).rows).toEqual([]);
  });
});
