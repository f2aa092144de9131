import { requireForm } from "@edge-op/protocol/encoding/stored-json";
import {
  areBackedUpRows,
  type BackedUpTable,
  type BackedUpValue,
  isBackupManifest,
  manifestKey,
  openBackup,
  partKey,
} from "@edge-op/shared/storage/sealed-backup";

/** Reads one object by its key. */
export type ReadObject = (key: string) => Promise<Uint8Array<ArrayBuffer>> | Uint8Array<ArrayBuffer>;

/**
 * **Opens a backup of D1**: yields SQL that replaces the content of a database that has its tables. Every part is verified: one that is missing, cut off,
 * exchanged or of another key is an error. Rows whose user or client was deleted while the backup was made are left out.
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
      for (const row of await open(partKey(begun, table.name, part), areBackedUpRows)) {
        rows += 1;
        yield `INSERT INTO ${table.name} (${table.columns.join(", ")}) VALUES (${row.map(literal).join(", ")})`;
      }
    }
    if (rows !== table.rows) throw new Error(`${table.name} has ${rows} rows, and the manifest names ${table.rows}`);
  }
  for (const table of tables) yield* orphans(table);
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
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return `X'${value.map((byte) => byte.toString(16).padStart(2, "0")).join("")}'`;
}
