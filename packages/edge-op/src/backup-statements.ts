import { requireForm } from "@edge-op/protocol/encoding/stored-json";
import {
  areBackedUpRows,
  type BackedUpRow,
  type BackedUpTable,
  type BackedUpValue,
  isBackupManifest,
  manifestKey,
  openBackup,
  partKey,
} from "@edge-op/shared/storage/sealed-backup";

/** Reads one object by its key. */
export type ReadObject = (key: string) => Promise<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer>;

/** Characters of three bytes at most: D1 refuses a statement of more than 100,000 bytes. */
const longestText = 30_000;
const longestShortText = 1_000;
/** Of 255 characters each. */
const namesOfStatement = 100;
const pieces = "restored_pieces";
const longestPiece = new RegExp(`[^]{1,${longestText / 2}}`, "gu");

/**
 * **Opens a backup of D1**: yields SQL that replaces the content of a database that has its tables. Every part is verified: one that is missing, cut
 * off, exchanged or of another key is an error. Parts are of different moments, so two may name the same unique value: the later one has it. An
 * earlier person keeps their account under a name that nobody can choose; other earlier rows, and rows whose user or client was deleted, are left
 * out.
 */
export async function* backupStatements(begun: string, masterKey: string, read: ReadObject): AsyncGenerator<string> {
  const open = async <T>(key: string, isContent: (value: unknown) => value is T): Promise<T> => {
    const content = await openBackup({ OP_MASTER_KEY: masterKey }, key, await read(key));
    if (content === undefined) throw new Error(`${key} is damaged, or was sealed with another OP_MASTER_KEY`);
    return requireForm(key, content, isContent);
  };
  const { tables } = await open(manifestKey(begun), isBackupManifest);
  yield "PRAGMA defer_foreign_keys = on";
  for (const { name } of tables) yield `DELETE FROM ${name}`;
  for (const table of tables) {
    let rows = 0;
    for (let part = 1; part <= table.parts; part += 1) {
      const found = await open(partKey(begun, table.name, part), areBackedUpRows);
      rows += found.length;
      if (table.name === "users") yield* freeNames(table, found);
      for (const row of found) yield* insert(table, row);
    }
    if (rows !== table.rows) throw new Error(`${table.name} has ${rows} rows, and the manifest names ${table.rows}`);
  }
  for (const table of tables) yield* orphans(table);
}

/** A username contains no space: nobody has or gets the name of such a person. An administrator gives them another one. */
function* freeNames({ columns }: BackedUpTable, rows: readonly BackedUpRow[]): Generator<string> {
  const at = columns.indexOf("username_key");
  for (let from = 0; from < rows.length; from += namesOfStatement) {
    const names = rows.slice(from, from + namesOfStatement).map((row) => literal(row[at]!));
    yield `UPDATE users SET username = 'formerly ' || username || ' ' || sub, username_key = 'formerly ' || username_key || ' ' || sub WHERE username_key IN (${names.join(", ")})`;
  }
}

function* insert({ name, columns }: BackedUpTable, row: BackedUpRow): Generator<string> {
  const length = row.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0);
  const into = `INSERT OR REPLACE INTO ${name} (${columns.join(", ")})`;
  if (length <= longestText) return yield `${into} VALUES (${row.map(literal).join(", ")})`;
  // The long texts of the row are written in pieces first.
  yield `CREATE TABLE ${pieces} (text INTEGER, at INTEGER, piece TEXT, PRIMARY KEY (text, at))`;
  for (const [text, value] of row.entries()) {
    if (!isLong(value)) continue;
    for (const { 0: piece, index } of value.matchAll(longestPiece))
      yield `INSERT INTO ${pieces} VALUES (${text}, ${index}, ${literal(piece)})`;
  }
  const joined = (text: number) =>
    `(SELECT group_concat(piece, '') FROM (SELECT piece FROM ${pieces} WHERE text = ${text} ORDER BY at))`;
  yield `${into} VALUES (${row.map((value, text) => (isLong(value) ? joined(text) : literal(value))).join(", ")})`;
  yield `DROP TABLE ${pieces}`;
}

function isLong(value: BackedUpValue): value is string {
  return typeof value === "string" && value.length > longestShortText;
}

function orphans({ name, references }: BackedUpTable): string[] {
  return references.map(
    ({ column, table, key }) =>
      `DELETE FROM ${name} WHERE ${column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${table} AS parent WHERE parent.${key} = ${name}.${column})`,
  );
}

function literal(value: BackedUpValue): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return `X'${value.map((byte) => byte.toString(16).padStart(2, "0")).join("")}'`;
  // The text of a statement ends at the first NUL.
  return value
    .split("\0")
    .map((text) => `'${text.replaceAll("'", "''")}'`)
    .join(" || char(0) || ");
}
