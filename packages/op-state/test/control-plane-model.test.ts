import { applyD1Migrations, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { CutOff } from "@edge-op/shared/cut-offs/cut-offs";
import { cutOffKey, cutOffUntilMs, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { resetDeployment } from "../../../test/fixtures/fresh-deployment.ts";
import { AnnouncedLog } from "../src/changes/announced-log.ts";
import { Followers } from "../src/changes/followers.ts";
import { UnfinishedWork } from "../src/changes/unfinished-work.ts";
import { CutOffLedger } from "../src/cut-offs/cut-off-ledger.ts";
import { GenerationWork } from "../src/generations/generation-work.ts";
import { OpenedGenerations } from "../src/generations/opened-generations.ts";
import {
  actualWait,
  commitChange,
  endInstance,
  fixtures,
  follow,
  plane,
  resetFixtures,
  revocationGenerations,
  ring,
  start,
  told,
  useControlPlaneFixtures,
} from "./fixtures/control-plane-fixtures.ts";

/**
 * For any concurrent requests, failing calls of shards, evictions, and restorations of D1 to an earlier moment (ADR 11): a completed call is in force
 * on every shard that vouches for the control version or begins to, and the alarm finishes an incomplete one.
 */
useControlPlaneFixtures();
beforeEach(interruptCalls);

const { DB, TEST_MIGRATIONS } = env as unknown as { DB: D1Database; TEST_MIGRATIONS: D1Migration[] };

interface Step {
  readonly operations: readonly string[];
  /** Share of calls to shards that fail. */
  readonly failing: number;
  readonly evict: boolean;
  readonly ring: boolean;
  readonly passMs: number;
  /** The number of steps by which D1 is restored afterwards; 0: it is not. */
  readonly setBackBy: number;
  /** D1 is restored by this many steps before the given call, in the middle of the operations. */
  readonly during?: { readonly call: number; readonly by: number } | undefined;
}

const step: fc.Arbitrary<Step> = fc.record({
  operations: fc.array(fc.constantFrom("change", "cutOff", "suspend", "disable", "open", "die"), {
    minLength: 1,
    maxLength: 4,
  }),
  failing: fc.constantFrom(0, 0, 0.05, 0.3),
  evict: fc.boolean(),
  ring: fc.boolean(),
  passMs: fc.constantFrom(0, 5_000, 40_000),
  setBackBy: fc.constantFrom(0, 0, 0, 1, 3),
  during: fc.option(fc.record({ call: fc.integer({ min: 1, max: 40 }), by: fc.constantFrom(0, 0, 1, 2) }), {
    nil: undefined,
    freq: 3,
  }),
});

/** The successful results so far. */
interface Answered {
  cv: number;
  /** By key, the newest version that any isolate can have known before the operation: grants with it are revoked. */
  readonly cutOffs: Map<string, number>;
  /** By number, the ids of the operations that returned it. */
  readonly generations: Map<number, Set<string>>;
  /** A change was published and an alarm has run since D1 was last restored, so lost generations are listed again. */
  isListed: boolean;
  /** A change was published since D1 was last restored, so D1 has its lost cut-offs again (ADR 28). */
  isRestored: boolean;
  /** How often D1 was restored. */
  setBacks: number;
}

type D1Row = Readonly<Record<string, string | number | null>>;

interface Snapshot {
  readonly changes: readonly D1Row[];
  readonly generations: readonly D1Row[];
  readonly cutOffs: readonly D1Row[];
}

async function takeSnapshot(): Promise<Snapshot> {
  const [changes, generations, cutOffs] = await DB.batch<D1Row>([
    DB.prepare("SELECT * FROM control_changes"),
    DB.prepare("SELECT * FROM shard_generations"),
    DB.prepare("SELECT * FROM cut_offs"),
  ]);
  return { changes: changes!.results, generations: generations!.results, cutOffs: cutOffs!.results };
}

/** Like Time Travel, including the counter of AUTOINCREMENT. */
async function setBackTo({ changes, generations, cutOffs }: Snapshot): Promise<void> {
  const insert = (table: string, row: D1Row) =>
    DB.prepare(
      `INSERT INTO ${table} (${Object.keys(row).join()}) VALUES (${Object.keys(row)
        .map(() => "?")
        .join()})`,
    ).bind(...Object.values(row));
  const newest = Math.max(...changes.map((row) => Number(row["version"])));
  await batch.call(DB, [
    DB.prepare("DELETE FROM control_changes"),
    DB.prepare("DELETE FROM shard_generations"),
    DB.prepare("DELETE FROM cut_offs"),
    ...cutOffs.map((row) => insert("cut_offs", row)),
    ...changes.map((row) => insert("control_changes", row)),
    ...generations.map((row) => insert("shard_generations", row)),
    DB.prepare("UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'control_changes'").bind(newest),
  ]);
}

/**
 * Before the `call`th next call of D1, by any operation in progress. A restoration takes time, and D1 cancels the calls of that time: no later change
 * has the time of a lost one.
 */
function setBackBefore(call: number, target: Snapshot, responded: Answered): void {
  let left = call;
  interrupt = async (sql) => {
    left -= 1;
    if (!isSettingBack && left !== 0) return;
    if (isSettingBack) while (isSettingBack) await actualWait(1);
    else await setBack();
    if (sql.includes("INTO control_changes")) throw new Error("D1 was restored");
  };
  const setBack = async () => {
    isSettingBack = true;
    while (running > 0) await actualWait(1);
    await setBackTo(target);
    isSettingBack = false;
    noteSetBack(responded);
    vi.setSystemTime(Date.now() + 1);
  };
}

let isSettingBack = false;
let interrupt: (sql: string) => Promise<void> = async () => {};

const { batch } = Object.getPrototypeOf(DB) as D1Database;
let running = 0;

/** Every call of D1 passes here, from the object and from the test. */
function interruptCalls(): void {
  const call = async (sql: string, execute: () => Promise<unknown>) => {
    await interrupt(sql);
    running += 1;
    try {
      return (await execute()) as never;
    } finally {
      running -= 1;
    }
  };
  vi.spyOn(Object.getPrototypeOf(DB) as D1Database, "batch").mockImplementation(function (
    this: D1Database,
    statements,
  ) {
    return call(statements.map(sqlOf).join(), () => batch.call(this, statements));
  });
  const statement = Object.getPrototypeOf(DB.prepare("SELECT 1")) as D1PreparedStatement;
  for (const name of ["first", "run", "all"] as const) {
    const actual = statement[name] as (...columns: unknown[]) => Promise<unknown>;
    vi.spyOn(statement, name).mockImplementation(function (this: D1PreparedStatement, ...columns: unknown[]) {
      return call(sqlOf(this), () => actual.apply(this, columns));
    });
  }
}

function sqlOf(prepared: D1PreparedStatement): string {
  const { statement } = prepared as D1PreparedStatement & { readonly statement?: unknown };
  if (typeof statement !== "string") throw new TypeError("a prepared statement has no text");
  return statement;
}

function noteSetBack(responded: Answered): void {
  responded.setBacks += 1;
  responded.isListed = false;
  responded.isRestored = false;
}

/** How an endpoint commits a client's change and its cut-off: in one transaction, the record after the change. */
type Commit = (id: string) => Promise<number>;

const commitOf =
  (kind: "client" | "sub"): Commit =>
  async (id) => {
    const [change] = await DB.batch<{ version: number }>([insertChange(id, kind), record(id, kind)]);
    return change!.results[0]!.version;
  };
const disable = commitOf("client");
const suspend = commitOf("sub");

function insertChange(id: string, kind: "client" | "sub" = "client"): D1PreparedStatement {
  const insert = "INSERT INTO control_changes (kind, id, at_ms) VALUES (?1, ?2, ?3) RETURNING version";
  return DB.prepare(insert).bind(kind === "sub" ? "user" : "client", id, Date.now());
}

function record(id: string, kind: "client" | "sub" = "client"): D1PreparedStatement {
  return recordNewest(DB, { key: cutOffKey(kind, id), untilMs: cutOffUntilMs(Date.now()) });
}

async function perform(operation: string, id: string, responded: Answered, commit = disable): Promise<void> {
  const { setBacks } = responded;
  if (operation === "open") {
    const request = { store: "revocation", regions: { weur: { shards: 2, hint: "weur" } }, operationId: id } as const;
    const { generation } = await plane().openGeneration(request);
    responded.generations.set(generation, (responded.generations.get(generation) ?? new Set()).add(id));
  } else if (operation === "cutOff") {
    const request = { kind: "sub", id, operationId: id, actor: "admin" } as const;
    const known = newestKnown();
    await plane().cutOff(request);
    responded.cutOffs.set(`nb:sub:${id}`, known);
    responded.isRestored ||= responded.setBacks === setBacks;
  } else if (operation === "disable") {
    await plane().begin(id, { kind: "client", id, actor: "admin", changedAtMs: Date.now() });
    const known = newestKnown();
    const version = await commit(id);
    const { cv } = await plane().publish(id, { version, listsSessions: false });
    // Sessions and grants that the caller makes by its own number rest on a version that counts.
    expect(cv).toBeGreaterThanOrEqual(version);
    responded.cv = Math.max(responded.cv, cv);
    responded.cutOffs.set(cutOffKey("client", id), known);
    responded.isRestored ||= responded.setBacks === setBacks;
  } else if (operation === "suspend") {
    await plane().begin(id, { kind: "sub", id, actor: "admin", changedAtMs: Date.now() });
    const known = newestKnown();
    const version = await suspend(id);
    const { cv } = await plane().publish(id, { version, listsSessions: false });
    // Sessions and grants that the caller makes by its own number rest on a version that counts.
    expect(cv).toBeGreaterThanOrEqual(version);
    responded.cv = Math.max(responded.cv, cv);
    responded.cutOffs.set(`nb:sub:${id}`, known);
    responded.isRestored ||= responded.setBacks === setBacks;
  } else {
    await plane().begin(id);
    await commitChange(id);
    if (operation === "die") return;
    responded.cv = Math.max(responded.cv, (await plane().publish(id)).cv);
    responded.isRestored ||= responded.setBacks === setBacks;
  }
  // Checked here, and not only when all is quiet: another operation may be between listing a generation and notifying its shards.
  await expectInForce(responded);
}

function newestKnown(): number {
  return Math.max(0, ...[...fixtures.shards.values()].map(({ cv }) => cv));
}

async function expectInForce(responded: Answered): Promise<void> {
  const listed = await revocationGenerations();
  const names = new Set(
    listed.flatMap(({ generation, regions }) =>
      Object.entries(regions).flatMap(([region, { shards }]) =>
        Array.from({ length: shards }, (_, shard) => `revocation:g${generation}:${region}:${shard}`),
      ),
    ),
  );
  for (const [generation, operations] of responded.generations) {
    expect(operations.size).toBe(1);
    if (responded.isListed) expect(listed.map((row) => row.generation)).toContain(generation);
    // Isolates may be using it, whether or not D1 lists it.
    for (const shard of [0, 1]) names.add(`revocation:g${generation}:weur:${shard}`);
  }
  for (const name of names) {
    // A shard that does not vouch for its content requests a lease before it responds.
    if (told(name).vouchesUntilMs <= Date.now()) await follow(name);
    const { cv, cutOffs } = told(name);
    expect(cv).toBeGreaterThanOrEqual(responded.cv);
    for (const [key, known] of responded.cutOffs) {
      // Existing grants are revoked, and later ones are not: isolates know at least the shard's version.
      expect(cutOffs.get(key)?.version).toBeGreaterThan(known);
      expect(cutOffs.get(key)?.version).toBeLessThanOrEqual(cv);
    }
  }
  if (responded.isRestored) await expectInRecords(responded);
  expect(early).toEqual([]);
  // No number is given to two changes.
  expect([...fixtures.announced.values()].filter(({ size }) => size > 1).map((changes) => [...changes])).toEqual([]);
}

/** ADR 28: refresh tokens and sessions are refused by D1's records, by the same versions. */
async function expectInRecords(responded: Answered): Promise<void> {
  const { cutOffs } = responded;
  const recorded = await recordedVersions();
  const newest = await DB.prepare("SELECT max(version) AS version FROM control_changes").first<{ version: number }>();
  // D1 was restored meanwhile.
  if (!responded.isRestored) return;
  for (const [key, known] of cutOffs) {
    expect(recorded.get(key), `the record of ${key}`).toBeGreaterThan(known);
    expect(recorded.get(key)).toBeLessThanOrEqual(newest!.version);
  }
}

async function recordedVersions(): Promise<ReadonlyMap<string, number>> {
  const { results } = await DB.prepare("SELECT key, version FROM cut_offs").all<{ key: string; version: number }>();
  return new Map(results.map(({ key, version }) => [key, version]));
}

/** Cut-offs that a shard was sent before D1 had them. */
const early: string[] = [];

async function noteEarly(cutOffs: readonly CutOff[], responded: Answered, setBacksBefore: number): Promise<void> {
  // D1 may have lost it since, and not have it again.
  if (cutOffs.length === 0 || !responded.isRestored || responded.setBacks !== setBacksBefore) return;
  const recorded = await recordedVersions();
  if (responded.setBacks !== setBacksBefore) return;
  for (const { key, version } of cutOffs)
    if (version !== undefined && !((recorded.get(key) ?? 0) >= version)) early.push(key);
}

async function heal(): Promise<void> {
  fixtures.refuse = () => false;
  for (let round = 0; round < 3; round += 1) {
    vi.setSystemTime(Date.now() + 60_000);
    await ring();
  }
}

async function runHistory(steps: readonly Step[], seed: number, commit = disable): Promise<void> {
  interrupt = async () => {};
  isSettingBack = false;
  await resetDeployment();
  await applyD1Migrations(DB, TEST_MIGRATIONS);
  resetFixtures();
  vi.setSystemTime(start);
  let state = seed;
  const chance = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  fixtures.hold = () => actualWait(Math.floor(chance() * 6));
  early.length = 0;
  const responded: Answered = {
    cv: 0,
    cutOffs: new Map(),
    generations: new Map(),
    isListed: true,
    isRestored: true,
    setBacks: 0,
  };
  await Promise.all(Array.from({ length: 8 }, (_, shard) => follow(`revocation:g1:wnam:${shard}`)));
  const snapshots: Snapshot[] = [];
  for (const [index, { operations, failing, evict, ring: rings, passMs, setBackBy, during }] of steps.entries()) {
    snapshots.push(await takeSnapshot());
    const { setBacks } = responded;
    fixtures.sent = (sent) => noteEarly(sent, responded, setBacks);
    if (during !== undefined) setBackBefore(during.call, snapshots[Math.max(0, index - during.by)]!, responded);
    fixtures.refuse = () => chance() < failing;
    const results = await Promise.allSettled(
      operations.map((operation, place) => perform(operation, `op-${index}-${place}`, responded, commit)),
    );
    const wasSetBack = responded.setBacks !== setBacks;
    if (!wasSetBack) expect(results.map(({ status }) => status)).not.toContain("rejected");
    await expectInForce(responded);
    if (evict) await endInstance();
    vi.setSystemTime(Date.now() + passMs);
    if (rings) await ring();
    await expectInForce(responded);
    if (setBackBy === 0) continue;
    await setBackTo(snapshots[Math.max(0, index + 1 - setBackBy)]!);
    noteSetBack(responded);
    vi.setSystemTime(Date.now() + 1);
  }
  interrupt = async () => {};
  fixtures.sent = (sent) => noteEarly(sent, responded, responded.setBacks);
  fixtures.refuse = () => false;
  await perform("change", "last", responded);
  await heal();
  responded.isListed = true;
  const newest = await DB.prepare("SELECT max(version) AS cv FROM control_changes").first<{ cv: number }>();
  await expectInForce({ ...responded, cv: newest!.cv });
}

const histories = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), fc.nat(), (steps, seed) =>
  runHistory(steps, seed),
);

it("a completed call is in force everywhere and an incomplete one is finished, whatever fails and however D1 is restored", async () => {
  await fc.assert(histories, { numRuns: 15 });
}, 120_000);

/** A generation is opened and lost; the next change must still reach its shards. */
const openedAndLost: readonly Step[] = [
  { operations: ["open"], failing: 0, evict: true, ring: true, passMs: 0, setBackBy: 1 },
  { operations: ["change", "cutOff"], failing: 0, evict: false, ring: false, passMs: 0, setBackBy: 0 },
  { operations: ["change"], failing: 0, evict: false, ring: true, passMs: 5_000, setBackBy: 0 },
];

it("the example that the mutants are tried on is in order", () => runHistory(openedAndLost, 1));

it.each([
  ["forgets what it opened", () => vi.spyOn(OpenedGenerations.prototype, "all").mockReturnValue([])],
  ["never lists again what D1 lost", () => vi.spyOn(GenerationWork.prototype, "resume").mockResolvedValue(undefined)],
])("a control plane that %s is caught", async (_, mutate) => {
  mutate();
  await expect(runHistory(openedAndLost, 1)).rejects.toThrow(/expected/);
});

/** A user is suspended in a D1 that has lost the newest changes, so the change has a number that isolates have seen before. */
const suspendedAfterLoss: readonly Step[] = [
  { operations: ["change", "change", "change"], failing: 0, evict: false, ring: true, passMs: 0, setBackBy: 1 },
  { operations: ["suspend"], failing: 0, evict: false, ring: false, passMs: 0, setBackBy: 0 },
];

it("a change in a restored D1 ends the grants of the lost time; a control plane that orders it by its own number is caught", async () => {
  await runHistory(suspendedAfterLoss, 1);
  const { lastGap } = AnnouncedLog.prototype;
  vi.spyOn(AnnouncedLog.prototype, "lastGap").mockImplementation(function (this: AnnouncedLog) {
    return { ...lastGap.call(this), version: 0 };
  });
  await expect(runHistory(suspendedAfterLoss, 1)).rejects.toThrow(/expected/);
});

function history(...operations: readonly (readonly string[])[]): readonly Step[] {
  return operations.map((each) => ({
    operations: each,
    failing: 0,
    evict: false,
    ring: true,
    passMs: 0,
    setBackBy: 0,
  }));
}

/** Cut-offs, a new generation, and a D1 that loses the newest of them. */
const cutOffs: readonly Step[] = [
  ...history(["cutOff", "disable"], ["suspend"], ["open"]),
  { operations: ["suspend", "disable"], failing: 0, evict: false, ring: false, passMs: 0, setBackBy: 1 },
  ...history(["change"], ["cutOff"]),
  ...suspendedAfterLoss,
];

it("ADR 28: the example that the mutants of the records are tried on is in order", () => runHistory(cutOffs, 1));

it.each([
  ["takes no cut-off for lost", () => vi.spyOn(CutOffLedger.prototype, "isLost").mockReturnValue(false)],
  [
    "sends no cut-off to a new generation",
    () => {
      const { news } = AnnouncedLog.prototype;
      vi.spyOn(AnnouncedLog.prototype, "news").mockImplementation(function (this: AnnouncedLog, since, atMs) {
        return since === 0 ? { ...news.call(this, since, atMs), cutOffs: [] } : news.call(this, since, atMs);
      });
    },
  ],
  [
    "does not give back what a restored D1 has lost",
    () => vi.spyOn(AnnouncedLog.prototype, "cutOffsAfter").mockReturnValue([]),
  ],
  ["waits for no shard", () => vi.spyOn(Followers.prototype, "bringIntoForce").mockResolvedValue(true)],
])("ADR 28: a control plane that %s is caught", async (_, mutate) => {
  mutate();
  await expect(runHistory(cutOffs, 1)).rejects.toThrow(/expected/);
});

const brokenCommits: Readonly<Record<string, Commit>> = {
  "records a cut-off before its change": async (id) => {
    const [, change] = await DB.batch<{ version: number }>([record(id), insertChange(id)]);
    return change!.results[0]!.version;
  },
  "commits the change without the cut-off that it reports as recorded": async (id) => {
    const [change] = await DB.batch<{ version: number }>([insertChange(id)]);
    return change!.results[0]!.version;
  },
};

/** The control plane records what D1 lacks before it announces the change (ADR 11). */
it.each(Object.entries(brokenCommits))("ADR 28: an endpoint that %s is caught", async (_, commit) => {
  await runHistory(history(["change"], ["disable"]), 1, commit);
  believeEndpoints();
  await expect(runHistory(history(["change"], ["disable"]), 1, commit)).rejects.toThrow(/expected/);
});

function believeEndpoints(): void {
  vi.spyOn(CutOffLedger.prototype, "isLost").mockReturnValue(false);
}

it("a control plane that does not wait for the leases of its predecessor is caught", async () => {
  const [change] = history(["change"]);
  const steps = [{ ...change!, evict: true, ring: false }, change!];
  await runHistory(steps, 1);
  vi.spyOn(UnfinishedWork.prototype, "leaseHorizon").mockReturnValue(undefined);
  await expect(runHistory(steps, 1)).rejects.toThrow(/expected/);
});

/** D1 loses the change, and others that are not announced yet, before it is published. */
const lostWithOthers: Commit = async (id) => {
  const before = await takeSnapshot();
  for (const other of ["one", "two", "three"]) await insertChange(other).run();
  const version = await disable(id);
  await setBackTo(before);
  return version;
};

/** … and others get their numbers. */
const overtaken: Commit = async (id) => {
  const version = await lostWithOthers(id);
  vi.setSystemTime(Date.now() + 1);
  for (const other of ["four", "five", "six", "seven", "eight"]) await insertChange(other).run();
  return version;
};

it.each([
  ["that is set back", lostWithOthers],
  ["whose numbers others have got", overtaken],
])("ADR 11: a change that is lost before it is published, in a D1 %s, ends the grants of before", (_, commit) =>
  runHistory(history(["change"], ["disable"], ["change"]), 1, commit),
);

it.each([
  [
    "takes D1 for unchanged while what was announced is there",
    lostWithOthers,
    () => {
      const { isContinued } = AnnouncedLog.prototype;
      vi.spyOn(AnnouncedLog.prototype, "isContinued").mockImplementation(function (this: AnnouncedLog, told, found) {
        return isContinued.call(this, told, found, 0);
      });
    },
  ],
  ["believes that D1 has what an endpoint committed", overtaken, believeEndpoints],
] as const)("ADR 11: a control plane that %s is caught", async (_, commit, mutate) => {
  mutate();
  await expect(runHistory(history(["change"], ["disable"], ["change"]), 1, commit)).rejects.toThrow(/expected/);
});
