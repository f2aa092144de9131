/** docs/operating/backup.md: what is written every day, and that it can be opened and restored by its key alone. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { backupStatements } from "../../edge-op/src/backup-statements.ts";
import { type BackupEnv, DatabaseBackup } from "../src/backup/database-backup.ts";
import { CHALLENGE_STORE, DB } from "./fixtures/audit-fixtures.ts";

const { BACKUP } = env as unknown as { BACKUP: R2Bucket };
const key = "A".repeat(43);
const start = Date.parse("2030-01-01T00:00:00Z");
const day = 86_400_000;
const begun = new Date(start).toISOString();

async function makeBackup(given: Partial<BackupEnv> = {}): Promise<readonly string[]> {
  const made: string[] = [];
  const bindings = { OP_MASTER_KEY: key, DB, BACKUP, ...given };
  await runInDurableObject(CHALLENGE_STORE.getByName(crypto.randomUUID()), async (_, { storage }) => {
    const backup = () => new DatabaseBackup(storage.sql, bindings, (name, rows) => made.push(`${name} ${rows}`));
    if (!backup().begin(start)) return;
    // Each step is an instance of its own, as after a restart.
    for (let atMs: number | undefined = start; atMs !== undefined && atMs < start + day; )
      atMs = await backup().run(atMs);
  });
  return made;
}

const read = async (name: string) => new Uint8Array(await (await BACKUP.get(name))!.arrayBuffer());

async function restore(masterKey = key): Promise<void> {
  const statements: D1PreparedStatement[] = [];
  for await (const sql of backupStatements(begun, masterKey, read)) statements.push(DB.prepare(sql));
  await DB.batch(statements);
}

const dump = async (tables: readonly string[]) =>
  JSON.stringify(
    (await DB.batch(tables.map((table) => DB.prepare(`SELECT * FROM ${table}`)))).map(({ results }) => results),
  );

beforeEach(async () => {
  const user = DB.prepare(
    "INSERT INTO users (sub, username, username_key, claims, created_at_ms, updated_at_ms) VALUES (?1, ?2, ?1, ?3, 1, 2)",
  );
  const users = Array.from({ length: 1_001 }, (_, index) =>
    user.bind(`u${index}`, `it's "${index}"\nü`, `{"name":"${index}"}`),
  );
  await DB.batch([
    ...users,
    DB.prepare("INSERT INTO user_roles VALUES ('u7', 'editor')"),
    DB.prepare("INSERT INTO retired_subs VALUES (X'00ff10')"),
  ]);
});

describe("a backup", () => {
  it("contains every table, and restores every row", async () => {
    const tables = (
      await DB.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' AND substr(name, 1, 3) NOT IN ('_cf', 'd1_')",
      ).all<{ name: string }>()
    ).results.map(({ name }) => name);
    const before = await dump(tables);
    expect(await makeBackup()).toEqual([expect.stringMatching(new RegExp(`^${begun} \\d+$`))]);
    await DB.batch([
      DB.prepare("DELETE FROM users WHERE sub > 'u5'"),
      DB.prepare("DELETE FROM retired_subs"),
      DB.prepare("INSERT INTO role_permissions VALUES ('new', 'x')"),
    ]);
    expect(await dump(tables)).not.toBe(before);
    await restore();
    expect(await dump(tables)).toBe(before);
  });

  it("is text to nobody without the key, and a damaged or exchanged part is an error", async () => {
    await makeBackup();
    const part = `backup/${begun}/users/000001`;
    const bytes = await read(part);
    expect(new TextDecoder().decode(bytes)).not.toContain("username");
    await expect(restore(`${"B".repeat(42)}A`)).rejects.toThrow(
      "manifest is damaged, or was sealed with another OP_MASTER_KEY",
    );
    await BACKUP.put(part, await read(`backup/${begun}/users/000002`));
    await expect(restore()).rejects.toThrow("users/000001 is damaged");
    await BACKUP.put(part, bytes);
    await restore();
  });

  it("is not begun without a bucket, and costs nothing", async () => {
    expect(await makeBackup({ BACKUP: undefined })).toEqual([]);
  });
});
