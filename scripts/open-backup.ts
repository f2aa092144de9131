import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { backupStatements, type ReadObject } from "../packages/edge-op/src/backup-statements.ts";
import { escapeStreams } from "../packages/edge-op/src/console/escape-output.ts";

escapeStreams();

/** `folder` has the name of the backup, and the objects below it. */
async function writeSql(folder: string, masterKey: string, path: string): Promise<void> {
  const begun = basename(folder);
  const read: ReadObject = (key) => new Uint8Array(readFileSync(join(folder, key.slice(`backup/${begun}/`.length))));
  const file = createWriteStream(path);
  for await (const statement of backupStatements(begun, masterKey, read)) {
    if (!file.write(`${statement};\n`)) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
}

/** **Opens a backup of D1** (docs/operating/backup.md): writes the SQL that replaces the content of a database. */
const [folder, path = "restore.sql"] = process.argv.slice(2);
const masterKey = process.env["OP_MASTER_KEY"];
if (folder === undefined || !masterKey) {
  console.error(
    "OP_MASTER_KEY=… node scripts/with-toolchain.mjs scripts/open-backup.ts <folder of the backup> [restore.sql]",
  );
  process.exit(2);
}
await writeSql(folder, masterKey, path);
console.log(`Wrote ${path} (docs/operating/backup.md).`);
