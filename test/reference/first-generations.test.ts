import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../migrations");
const migrations = readdirSync(folder).sort();
const changing = "0036_eight_refresh_shards.sql";

/** The first generation of refresh shards; `existing` is in the database before the migration that changes it. */
function refreshShards(existing?: string): string {
  const database = new DatabaseSync(":memory:");
  for (const name of migrations) {
    if (name === changing && existing !== undefined) database.exec(existing);
    database.exec(readFileSync(join(folder, name), "utf8"));
  }
  const row = database
    .prepare("SELECT regions FROM shard_generations WHERE store = 'refresh' AND generation = 1")
    .get();
  return String(row?.["regions"]);
}

const region = (shards: number) => `{"wnam":{"shards":${shards},"hint":"wnam"}}`;

test("a new database has 8 shards of refresh families", () => {
  expect(refreshShards()).toBe(region(8));
});

test.each([
  ["was deployed", "INSERT INTO deployment (name, value, set_at_ms) VALUES ('region', 'wnam', 1)"],
  ["has a user", "INSERT INTO users (sub, username, created_at_ms, updated_at_ms) VALUES ('u', 'u', 1, 1)"],
  ["has a client", "INSERT INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES ('c', '{}', 1, 1)"],
])("a database that %s keeps its 16 shards, which its refresh tokens may name", (_, existing) => {
  expect(refreshShards(existing)).toBe(region(16));
});
