import { once } from "node:events";
import { createWriteStream, existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { backupStatements, type ReadObject } from "../../packages/edge-op/src/backup-statements.ts";
import { sourceBuilds } from "../../packages/edge-op/src/source-builds.ts";
import { tryRestore } from "../../packages/edge-op/src/try-restore.ts";
import { confirm } from "./confirm.ts";
import { migrationsStep, storesStep } from "./deploy-environment.ts";
import { refuseForeign } from "./destroy-environment.ts";
import { newProgress, writeConfiguration } from "./progress.ts";
import { quote } from "./record-choices.ts";
import { Refusal } from "./refusal.ts";
import { RunLock } from "./run-lock.ts";
import { runDeploySteps } from "./run-steps.ts";
import { findWrongMigrations, type Session } from "./session.ts";
import { objectsWorker } from "./shape.ts";
import { followsRestoration } from "./travel-back.ts";

const mostShown = 50;

/**
 * **`npm run deploy -- restore`**: replaces the content of the database by a backup, which was restored into an empty database on this machine
 * before. A database that is gone is created. The choices of the deployment stay: they describe its Workers, which no backup contains.
 */
export async function restoreBackup(
  session: Session,
  backup: string | undefined,
  confirmed: string | undefined,
): Promise<void> {
  const { environment, directory, inventory, names } = session;
  if (backup === undefined) return listBackups(session);
  refuseForeign(session);
  const wrong = findWrongMigrations(session);
  if (wrong.length > 0) throw new Refusal(wrong);
  const file = join(directory, "restore.sql");
  try {
    const begun = await writeSql(session, backup, file);
    const name = names.databases["DB"]!;
    const isNew = !inventory.databases.has(name);
    console.log(`This replaces everything in the database ${name} by the backup ${begun}.`);
    await confirm(environment.name, confirmed, [
      ["Type the name of the environment to restore it: ", environment.name],
    ]);
    await RunLock.run(session, (lock) => replaceContent(session, begun, file, lock));
    if (isNew) console.log("The database is a new one. Bind the Workers to it: npm run deploy");
    console.log(followsRestoration);
  } finally {
    rmSync(file, { force: true });
  }
}

async function replaceContent(session: Session, begun: string, file: string, lock: RunLock): Promise<void> {
  const progress = newProgress();
  await runDeploySteps([
    storesStep(session, progress, lock),
    migrationsStep(session, progress, lock),
    {
      title: `Backup ${begun}`,
      async run() {
        const path = writeConfiguration(session, progress, objectsWorker(session.environment));
        await session.wrangler("d1", "execute", "DB", "--remote", "--yes", "--config", path, "--file", file);
        return undefined;
      },
    },
  ]);
}

/** **`npm run deploy -- open-backup`**: verifies a backup in the same way, and keeps the SQL. It changes nothing. */
export async function openBackup(session: Session, backup: string, file = "restore.sql"): Promise<void> {
  await writeSql(session, backup, resolve(file));
  console.log(`Wrote ${file}. It has every secret of the database that is not sealed: delete it afterwards.`);
}

async function writeSql(session: Session, backup: string, path: string): Promise<string> {
  const { masterKey, inventory } = session;
  if (masterKey === undefined)
    throw new Refusal(["Set OP_MASTER_KEY to the key that was in force when the backup was made."]);
  const { begun, read } = findBackup(session, backup);
  const file = createWriteStream(path, { mode: 0o600 });
  const write = async (sql: string) => {
    if (!file.write(`${sql};\n`)) await once(file, "drain");
  };
  const migrations = await sourceBuilds.migrations("DB");
  try {
    const tried = await tryRestore(migrations, backupStatements(begun, masterKey.key, read), write);
    for (const [name, value] of inventory.recorded ?? [])
      await write(`INSERT OR REPLACE INTO deployment VALUES (${quote(name)}, ${quote(value)}, ${Date.now()})`);
    console.log(`The backup ${begun} was restored on this machine: ${tried.rows} rows.`);
    showDifferences(tried.differences);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal([
      `The backup ${begun} cannot be restored: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  } finally {
    file.end();
    await once(file, "close");
  }
  const recorded = inventory.recorded?.get("key_fingerprint");
  if (recorded !== undefined && recorded !== masterKey.fingerprint)
    console.log(`It was made with another master key than the one in force. Before you restore it, give that key to the Workers as
OP_MASTER_KEY_PREVIOUS, or nothing that it has sealed opens (docs/operating/rotate-keys.md#replace-the-master-key).`);
  return begun;
}

function showDifferences(differences: readonly string[]): void {
  if (differences.length === 0) return;
  console.log("Changed while it was made, so that it has parts of before and of after:");
  for (const what of differences.slice(0, mostShown)) console.log(`  ${what}`);
  if (differences.length > mostShown) console.log(`  … and ${differences.length - mostShown} more`);
}

/** A folder has the name of the backup, and the objects below it; anything else is a name in the bucket. */
function findBackup(session: Session, backup: string): { readonly begun: string; readonly read: ReadObject } {
  const begun = basename(backup);
  if (existsSync(backup) && statSync(backup).isDirectory()) {
    const read: ReadObject = (key) => {
      const path = join(backup, key.slice(`backup/${begun}/`.length));
      if (!existsSync(path)) throw missing(key);
      return new Uint8Array(readFileSync(path));
    };
    return { begun, read };
  }
  const objects = bucketOf(session);
  const read: ReadObject = async (key) => {
    const found = await session.api.download(`${objects}/${key.split("/").map(encodeURIComponent).join("/")}`);
    if (found === undefined) throw missing(key);
    return found;
  };
  return { begun, read };
}

function missing(key: string): Error {
  return new Error(
    key.endsWith("/manifest") ? `${key} does not exist: it is not complete, or has another name` : `${key} is missing`,
  );
}

function bucketOf({ account, environment: { resources, name } }: Session): string {
  const bucket = resources["BACKUP"];
  if (bucket === undefined)
    throw new Refusal([`deployments/${name} has no bucket (resources.BACKUP): name a folder that has the backup.`]);
  return `/accounts/${account}/r2/buckets/${bucket}/objects`;
}

async function listBackups(session: Session): Promise<void> {
  const names = await session.api.listPrefixes(bucketOf(session), "backup/");
  const lines = names.map((name) => `  ${name.split("/")[1]}`);
  console.log(
    lines.length === 0 ? "The bucket has no backup." : `${lines.join("\n")}\n\nThe newest may not be complete.`,
  );
}
