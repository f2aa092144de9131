import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import {
  auditDaysUntilFull,
  bytesPerUser,
  limitBytes,
  rowBytes as planned,
  segmentBytesPerEvent,
  storeBytes,
} from "../../load-tests/model/habits.ts";
import { canonicalJson } from "../../packages/shared/src/audit/audit-event.ts";
import { encodeSegment } from "../../packages/shared/src/audit/segment.ts";
import { readRepositoryFile, repositoryFiles } from "../../scripts/reference/repository-files.ts";
import { shardsOf, users } from "../growth/rates.ts";
import { segmentOf } from "../growth/segment-events.ts";
import { rowsAtOnce, type StoredRows, storedRows } from "../growth/stored-rows.ts";

/**
 * Every stored table has a stated writer, rate and end; the sizes are measured in SQLite with the real definitions, scaled down to `sampleRows` rows
 * of a table, and must be those in the page.
 */
const sampleRows = 2_000;
const page = readRepositoryFile("docs/reference/stored-formats.md");
/** A page without its line breaks. */
const proseOf = (path: string) => readRepositoryFile(path).replace(/\s+/g, " ");

const written = repositoryFiles()
  .filter((path) => /^(audit-)?migrations\//.test(path) || /^packages\/op-state\/src\/.*\.ts$/.test(path))
  .map((path) => ({ path, text: readRepositoryFile(path).replace(/--.*$/gm, "") }));

/** With the current names of tables that a later migration renames. */
const sources = written.map(({ path, text }) => {
  const folder = path.slice(0, path.indexOf("/"));
  const renames = written
    .filter((later) => later.path > path && later.path.startsWith(`${folder}/`))
    .flatMap((later) => [...later.text.matchAll(/ALTER TABLE (\w+) RENAME TO (\w+)/g)]);
  const named = renames.reduce((renamed, [, from, to]) => renamed.replace(new RegExp(`\\b${from}\\b`, "g"), to!), text);
  return { path, text: named };
});

/** The definition of a table, its columns of later releases, and the indexes that no release has dropped. */
function definitionOf({ table, where }: StoredRows): string[] {
  const folder = where === "D1" ? "migrations/" : where === "audit database" ? "audit-migrations/" : "packages/";
  const texts = sources.filter(({ path }) => path.startsWith(folder)).map(({ text }) => text);
  const found = (pattern: RegExp) => texts.flatMap((text) => [...text.matchAll(pattern)].map(([match]) => match));
  const created = found(new RegExp(`CREATE TABLE (?:IF NOT EXISTS )?${table}\\s*\\([\\s\\S]*?(?:;|\`)`, "g"));
  const added = found(new RegExp(`ALTER TABLE ${table} ADD COLUMN [^;\`"]+`, "g"));
  const indexed = found(new RegExp(`CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?\\w+ ON ${table} \\([^;\`"]+`, "g"));
  const dropped = new Set(texts.flatMap((text) => [...text.matchAll(/DROP INDEX (\w+)/g)].map(([, name]) => name)));
  const kept = indexed.filter((statement) => !dropped.has(/INDEX (?:IF NOT EXISTS )?(\w+)/.exec(statement)![1]));
  return [created[0] ?? "", ...added, ...kept].map((statement) => statement.replace(/[;`]\s*$/, ""));
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly hidden: number;
}

function measureRowBytes(stored: StoredRows): number {
  const database = new DatabaseSync(":memory:", { enableForeignKeyConstraints: false });
  const sizeOf = (): number => {
    const { bytes } = database
      .prepare("SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size")
      .get() as { bytes: number };
    return bytes;
  };
  for (const statement of definitionOf(stored)) database.exec(statement);
  const columns = (
    database
      .prepare(`SELECT name, type, hidden FROM pragma_table_xinfo('${stored.table}')`)
      .all() as unknown as Column[]
  ).filter(({ hidden }) => hidden === 0);
  const emptyBytes = sizeOf();
  const insert = database.prepare(
    `INSERT INTO ${stored.table} (${columns.map(({ name }) => name).join()}) VALUES (${columns.map(() => "?").join()})`,
  );
  database.exec("PRAGMA ignore_check_constraints = ON");
  for (let row = 1; row <= sampleRows; row += 1) {
    insert.run(
      ...columns.map(({ name, type }) =>
        stored.absent?.includes(name)
          ? null
          : (stored.numbers?.[name] ?? sampleValue(name, type, row, stored.text[name])),
      ),
    );
  }
  const bytes = (sizeOf() - emptyBytes) / sampleRows;
  database.close();
  return bytes;
}

/** Distinct and unordered values, like random ids. */
function sampleValue(
  name: string,
  type: string,
  row: number,
  characters: number | undefined,
): string | number | Uint8Array {
  const scattered = (row * 7_919) % 10_007;
  if (type === "BLOB") return new TextEncoder().encode(String(scattered).padStart(characters ?? 32, "x"));
  if (type !== "TEXT") return name.endsWith("_ms") ? 1_900_000_000_000 + scattered : row;
  const id = `${scattered}-${row}`;
  // An index of hashes leaves out those of this provider, which are most.
  if (name === "hash" && characters === 90) return `$scrypt$ln=14,r=8,p=5$${id}`.padEnd(characters, "x");
  if (name === "payload" && characters === undefined) return typicalEvent(id);
  return name in indexedMembers
    ? typicalDocument(indexedMembers[name]!, id, characters ?? 0)
    : id.padEnd(characters ?? 0, "x");
}

/** The lengths of members of JSON documents that indexes contain. */
const indexedMembers: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  claims: { name: 16, email: 24 },
  metadata: { client_name: 16 },
  document: { name: 16 },
};

function typicalDocument(members: Readonly<Record<string, number>>, id: string, characters: number): string {
  const values = Object.entries(members).map(([name, length]) => [name, id.padEnd(length, "x")]);
  const length = JSON.stringify({ ...Object.fromEntries(values), more: "" }).length;
  return JSON.stringify({ ...Object.fromEntries(values), more: "x".repeat(Math.max(0, characters - length)) });
}

/** The payload of a sign-in as written by SessionStore; that of a redeemed code has the same length. Indexed columns are computed from it. */
function typicalEvent(id: string): string {
  const payload = {
    ...{ sid: id.padEnd(40, "x"), sub: id.padEnd(36, "x"), amr: ["pwd"] },
    ...{ clientId: id.padEnd(24, "x"), address: "192.0.2.0/24", requestId: id.padEnd(20, "x") },
  };
  return canonicalJson(payload);
}

function round(value: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
  return Math.round(value / step) * step;
}

function count(value: number): string {
  const rounded = round(value);
  if (rounded >= 1_000_000) return `${Number((rounded / 1_000_000).toPrecision(2))} M`;
  return rounded >= 1 || value === 0 ? rounded.toLocaleString("en") : value.toPrecision(1);
}

function size(bytes: number): string {
  if (bytes >= 1_000_000_000) return `${Number((bytes / 1_000_000_000).toPrecision(2))} GB`;
  if (bytes >= 1_000_000) return `${Number((bytes / 1_000_000).toPrecision(2))} MB`;
  return bytes >= 1_000 ? `${Number((bytes / 1_000).toPrecision(2))} kB` : `${round(bytes)} B`;
}

function places({ where }: StoredRows): number {
  return where in shardsOf ? shardsOf[where as keyof typeof shardsOf] : where === "each object" ? 50 : 1;
}

const measured = storedRows.map((stored) => {
  const rowBytes = round(measureRowBytes(stored));
  const rows = rowsAtOnce(stored);
  const bytesOfOne = rows === undefined ? undefined : (rows * rowBytes) / places(stored);
  return { stored, rowBytes, rows, bytesOfOne };
});

/** Days until rows that are never deleted fill a database or an object. */
function fullAfter(stored: StoredRows, rowBytes: number): string {
  const years = limitBytes / ((rowBytes * stored.perDay) / places(stored)) / 365;
  if (years >= 100) return "over 100 years until 10 GB";
  return years >= 1
    ? `${Number(years.toPrecision(2))} years until 10 GB`
    : `${Math.floor(years * 365)} days until 10 GB`;
}

function tableOf(where: (stored: StoredRows) => boolean): string {
  const lines = measured
    .filter(({ stored, rows }) => where(stored) && rows !== 1)
    .map(({ stored, rowBytes, rows, bytesOfOne }) => {
      const place = stored.where in shardsOf ? stored.where : "";
      const total = bytesOfOne === undefined ? fullAfter(stored, rowBytes) : size(bytesOfOne);
      const cells = [
        `\`${stored.table}\`${place && ` (${place})`}`,
        count(stored.perDay),
        rows === undefined ? "grows" : count(rows),
        `${rowBytes}`,
        total,
      ];
      return `| ${cells.join(" | ")} |`;
    });
  return ["| Table | Rows a day | Rows | Bytes a row | Size |", "| --- | --- | --- | --- | --- |", ...lines].join("\n");
}

const ofDatabases = ({ where }: StoredRows) => where === "D1" || where === "audit database";

describe("growth of each stored row at ten million users", () => {
  test("every table of the migrations and of op-state is listed with its end", () => {
    const names = sources.flatMap(({ text }) =>
      [...text.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)\s*\(/g)].map(([, table]) => table!),
    );
    const listed = storedRows.map(({ table }) => table);
    expect([...new Set(names)].filter((table) => !listed.includes(table))).toEqual([]);
    expect(listed.filter((table) => !names.includes(table))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });

  test("rows that are never deleted are few, or their retention is a setting", () => {
    const others = ["audit_events", "retired_subs", "retired_subjects"];
    const kept = measured.filter(({ stored }) => stored.life === "kept" && !others.includes(stored.table));
    for (const { stored, rowBytes } of kept) {
      const bytesInTenYears = (3_650 * stored.perDay * rowBytes) / places(stored);
      expect(bytesInTenYears, stored.table).toBeLessThan(limitBytes / 1_000);
    }
  });

  test("a deleted user leaves a tenth of their rows, and a tenth of a database in ten years", () => {
    const rowOf = (table: string) => measured.find(({ stored }) => stored.table === table)!;
    const retired = rowOf("retired_subs");
    expect(retired.rowBytes).toBeLessThan(rowOf("users").rowBytes / 10);
    expect(3_650 * retired.stored.perDay * retired.rowBytes).toBeLessThan(limitBytes / 10);
  });

  test("each object stays below half of its limit", () => {
    const shared = measured.filter(({ stored }) => stored.where === "each object");
    for (const name of Object.keys(shardsOf)) {
      const own = measured.filter(({ stored }) => stored.where === name);
      const bytes = [...own, ...shared].reduce((sum, { bytesOfOne = 0 }) => sum + bytesOfOne, 0);
      expect(bytes, name).toBeLessThan(limitBytes / 2);
    }
  });

  test("sizing plans with the measured bytes of a row, and of each store", () => {
    const bytesOf = (table: string) => measured.find(({ stored }) => stored.table === table)!.rowBytes;
    for (const [table, bytes] of Object.entries(planned)) expect(bytes, table).toBe(bytesOf(table));
    const { refresh, session, code } = storeBytes(users);
    for (const [name, bytes, least] of [
      ["RefreshTokenRotator", refresh, 0.97],
      ["SessionStore", session, 0.97],
      // Device codes are the rest.
      ["AuthorizationCodeStore", code, 0.9],
    ] as const) {
      const all = measured
        .filter(({ stored }) => stored.where === name)
        .reduce((sum, { bytesOfOne = 0 }) => sum + bytesOfOne, 0);
      expect(bytes / (all * shardsOf[name]), name).toBeGreaterThan(least);
      expect(bytes / (all * shardsOf[name]), name).toBeLessThan(1.03);
    }
  });

  test("the pages state the measured size of an audit event, and when a given rate fills the database", () => {
    const stated = `about ${planned.audit_events} bytes`;
    const pages = ["docs/reference/stored-formats.md", "docs/operating/audit.md", "docs/operating/sizing.md"];
    for (const path of [...pages, "docs/adr/0035-one-audit-chain-in-a-database-of-its-own.md"]) {
      expect(proseOf(path).toLowerCase(), path).toContain(stated);
    }
    const days = limitBytes / (100 * 86_400 * planned.audit_events);
    expect(proseOf("docs/operating/sizing.md")).toContain(`100 events a second fill it in ${days.toPrecision(2)} days`);
    const million = Math.floor(auditDaysUntilFull(1_000_000));
    expect(proseOf("docs/operating/audit.md")).toContain(`after ${million} days with a million users a month`);
  });

  test("the model's bytes of a user in D1, and of an event in a segment", async () => {
    const bytes = measured
      .filter(({ stored }) => stored.where === "D1")
      .reduce((sum, { bytesOfOne = 0 }) => sum + bytesOfOne, 0);
    expect(bytes / users / bytesPerUser).toBeGreaterThan(0.95);
    expect(bytes / users / bytesPerUser).toBeLessThan(1.05);
    const segment = await encodeSegment(segmentOf(5_000));
    expect(segment.byteLength / 5_000 / segmentBytesPerEvent).toBeGreaterThan(0.95);
    expect(segment.byteLength / 5_000 / segmentBytesPerEvent).toBeLessThan(1.05);
  });

  test("ADR 27: one database suffices for four million users, all of whose rows scale with them", () => {
    const bytes = measured
      .filter(({ stored }) => stored.where === "D1")
      .reduce((sum, { bytesOfOne = 0 }) => sum + bytesOfOne, 0);
    expect((bytes * 4) / 10).toBeLessThan(limitBytes);
  });

  test("the page states what the database contains, and how many users fill it", () => {
    const bytes = measured
      .filter(({ stored }) => stored.where === "D1")
      .reduce((sum, { bytesOfOne = 0 }) => sum + bytesOfOne, 0);
    const fullAt = Math.floor((limitBytes / bytes) * 100) / 10;
    expect(proseOf("docs/reference/stored-formats.md")).toContain(
      `${size(bytes)} of \`DB\` at ten million users: a database of 10 GB is full at about ${fullAt} million`,
    );
  });

  test("the page has the table for the databases", () => {
    expect(page).toContain(tableOf(ofDatabases));
  });

  test("the page has the table for the objects", () => {
    expect(page).toContain(tableOf((stored) => !ofDatabases(stored)));
  });
});
