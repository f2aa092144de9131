import { expect, test } from "vitest";
import { readRepositoryFile, repositoryFiles } from "../../scripts/reference/repository-files.ts";

/** Every stored table and column, parsed from the statements that create them. */
const page = readRepositoryFile("docs/reference/stored-formats.md");

interface StoredTable {
  readonly source: string;
  readonly table: string;
  readonly columns: readonly string[];
}

/** Tables and columns of the `CREATE TABLE` and `ALTER TABLE … ADD COLUMN` statements of a text. */
function tablesIn(source: string, text: string): StoredTable[] {
  const sql = text.replace(/--.*$/gm, "");
  const created = [...sql.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)\s*\(/g)].map(
    ({ index, 0: head, 1: table }) => ({
      source,
      table: table!,
      columns: columnsOf(sql.slice(index + head.length)),
    }),
  );
  const added = [...sql.matchAll(/ALTER TABLE (\w+) ADD COLUMN (\w+)/g)].map(([, table, column]) => ({
    source,
    table: table!,
    columns: [column!],
  }));
  return [...created, ...added];
}

/** The names that begin each definition up to the parenthesis that closes the statement. */
function columnsOf(definitions: string): string[] {
  const parts: string[] = [""];
  let depth = 0;
  for (const character of definitions) {
    if (character === ")" && depth === 0) break;
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (character === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts
    .map((part) => /^\s*(\w+)/.exec(part)?.[1] ?? "")
    .filter((name) => name !== "" && !["PRIMARY", "UNIQUE", "CHECK", "FOREIGN"].includes(name));
}

const sources = repositoryFiles().filter(
  (path) => /^(audit-)?migrations\//.test(path) || /^packages\/op-state\/src\/.*\.ts$/.test(path),
);

/** `table.column` for columns that a later migration drops. */
const dropped = sources.flatMap((path) =>
  [...readRepositoryFile(path).matchAll(/ALTER TABLE (\w+) DROP COLUMN (\w+)/g)].map(
    ([, table, column]) => `${table}.${column}`,
  ),
);

const stored = sources
  .flatMap((path) => tablesIn(path, readRepositoryFile(path)))
  .map(({ columns, ...rest }) => ({
    ...rest,
    columns: columns.filter((column) => !dropped.includes(`${rest.table}.${column}`)),
  }));

/** The text from a table's bold name to the next bold table name or heading. */
function descriptionsOf(table: string): string[] {
  return [...page.matchAll(new RegExp(`\\*\\*\`${table}\`\\*\\*(?:(?!\\*\\*\`|^#)[\\s\\S])*`, "gm"))].map(
    ([text]) => text,
  );
}

test("tables are found in the migrations and in every object", () => {
  expect(stored.find(({ table }) => table === "clients")?.columns).toEqual([
    "client_id",
    "status",
    "metadata",
    "created_at_ms",
    "updated_at_ms",
    "origin",
    "fresh_until_ms",
    "used_at_ms",
    "name_key",
  ]);
  expect(stored.length).toBeGreaterThan(40);
});

test.each(stored.map(({ source, table, columns }) => ({ source, table, columns })))(
  "$table of $source is described, with $columns",
  ({ table, columns }) => {
    const descriptions = descriptionsOf(table);
    expect(descriptions, `one description of ${table}`).toHaveLength(1);
    const missing = columns.filter((column) => !descriptions[0]!.includes(`\`${column}\``));
    expect(missing).toEqual([]);
  },
);

test("everything that the page describes is stored", () => {
  const described = [...page.matchAll(/\*\*`(\w+)`\*\*/g)].map(([, table]) => table!);
  const known = new Set(stored.map(({ table }) => table));
  expect(described.filter((table) => !known.has(table))).toEqual([]);
});

test("every kind of KV key is described", () => {
  const sources = repositoryFiles()
    .filter((path) => /^packages\/[^/]+\/src\/.*\.ts$/.test(path))
    .map((path) => readRepositoryFile(path));
  const kinds = sources.flatMap((text) =>
    [...text.matchAll(/(?:new ReadThrough|ReadThrough\.ofWhole|: StoredKind<)[\s\S]{0,80}?kind: "([\w-]+)"/g)].map(
      ([, kind]) => `${kind}:`,
    ),
  );
  const written = sources.flatMap((text) => {
    const keys = [...text.matchAll(/writeCache\(\s*\w+, (\w+)/g)].map(([, name]) => name!);
    return keys.flatMap((name) =>
      [...text.matchAll(new RegExp(`const ${name} = ["\`](\\w+:)`, "g"))].map(([, key]) => key!),
    );
  });
  expect(kinds.length).toBe(12);
  expect([...new Set(written)].toSorted()).toEqual(["introspection:", "keys:"]);
  const keys = page.slice(page.indexOf("## KV"), page.indexOf("## Objects"));
  expect([...kinds, ...written].filter((key) => !keys.includes(`\`${key}`))).toEqual([]);
});

test("every cookie is described", () => {
  const source = readRepositoryFile("packages/pages/src/cookies.ts");
  const names = /type CookieName =([^;]+);/.exec(source)![1]!.match(/op-\w+/g)!;
  const cookies = page.slice(page.indexOf("## What people's browsers hold"));
  expect([...cookies.matchAll(/^\| `(op-\w+)`/gm)].map(([, name]) => name).toSorted()).toEqual(names.toSorted());
});
