/** docs/operating/backup.md: a backup can be restored, whatever was written while it was made. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { backupStatements } from "../../edge-op/src/backup-statements.ts";
import { DatabaseBackup } from "../src/backup/database-backup.ts";
import { CHALLENGE_STORE, DB } from "./fixtures/audit-fixtures.ts";

const { BACKUP, LONG_TESTS } = env as unknown as { BACKUP: R2Bucket; LONG_TESTS: string };
const key = "A".repeat(43);
const start = Date.parse("2030-01-01T00:00:00Z");
const begun = new Date(start).toISOString();

/** Small parts; `meanwhile` runs after each. */
async function makeBackup(meanwhile: (part: string) => Promise<unknown> | undefined): Promise<void> {
  const put = async (name: string, content: Uint8Array) => {
    await BACKUP.put(name, content);
    await meanwhile(name.slice(`backup/${begun}/`.length));
  };
  const bindings = { OP_MASTER_KEY: key, DB, BACKUP: { put } as unknown as R2Bucket };
  await runInDurableObject(CHALLENGE_STORE.getByName(crypto.randomUUID()), async (_, { storage }) => {
    const backup = new DatabaseBackup(storage.sql, bindings, () => undefined, 2);
    backup.begin(start);
    for (let atMs: number | undefined = start; atMs !== undefined && atMs < start + 86_400_000; )
      atMs = await backup.run(atMs);
  });
}

async function restore(): Promise<readonly string[]> {
  const read = async (name: string) => new Uint8Array(await (await BACKUP.get(name))!.arrayBuffer());
  const statements: string[] = [];
  for await (const sql of backupStatements(begun, key, read)) statements.push(sql);
  await DB.batch(statements.map((sql) => DB.prepare(sql)));
  expect((await DB.prepare("PRAGMA foreign_key_check").all()).results).toEqual([]);
  return statements;
}

const column = async (sql: string) => (await DB.prepare(sql).raw<[string]>()).map(([value]) => value);
const run = (...statements: readonly string[]) => DB.batch(statements.map((sql) => DB.prepare(sql)));

const addUser = (sub: string, name: string) =>
  `INSERT OR IGNORE INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('${sub}', '${name.toUpperCase()}', '${name}', 1, 1)`;
const rename = (sub: string, name: string) =>
  `UPDATE OR IGNORE users SET username = '${name.toUpperCase()}', username_key = '${name}' WHERE sub = '${sub}'`;
const addAddress = (sub: string, address: string) =>
  `INSERT OR IGNORE INTO user_addresses (address_key, sub, verified_at_ms) SELECT '${address}', sub, 1 FROM users WHERE sub = '${sub}'`;
const addResource = (identifier: string, id: string) =>
  `INSERT OR IGNORE INTO resources VALUES ('https://${identifier}', '${id}', '{}', 1, 1)`;
const addIssuer = (id: string, issuer: string) =>
  `INSERT OR IGNORE INTO trusted_issuers (issuer_id, issuer, document, created_at_ms, updated_at_ms) VALUES ('${id}', 'https://${issuer}', '{}', 1, 1)`;
const addInvitation = (id: string, address: string) =>
  `INSERT OR IGNORE INTO invitations VALUES ('${id}', '${address}', '${address}', '{}', 'admin', 1, 2)`;
const addClient = (id: string) =>
  `INSERT OR IGNORE INTO clients (client_id, metadata, created_at_ms, updated_at_ms) VALUES ('${id}', '{}', 1, 1)`;
const addUpstream = (id: string) =>
  `INSERT OR IGNORE INTO upstreams (upstream_id, document, created_at_ms, updated_at_ms) VALUES ('${id}', '{}', 1, 1)`;
/** What belongs to a person, a client or an upstream provider. */
const addRowsOf = (sub: string, other: string) => [
  `INSERT OR REPLACE INTO user_passwords (sub, hash, updated_at_ms) SELECT sub, 'h', 1 FROM users WHERE sub = '${sub}'`,
  `INSERT OR REPLACE INTO webauthn_credentials (credential_id, sub, public_key, sign_count, name, created_at_ms) SELECT 'c${other}', sub, 'k', 0, 'n', 1 FROM users WHERE sub = '${sub}'`,
  `INSERT OR REPLACE INTO user_identities (upstream_id, issuer, subject, sub, label, created_at_ms) SELECT upstream_id, 'i', '${other}', '${sub}', 'l', 1 FROM upstreams WHERE EXISTS (SELECT 1 FROM users WHERE sub = '${sub}')`,
  `INSERT OR REPLACE INTO consents SELECT '${sub}', client_id, '[]', 1, 1 FROM clients WHERE EXISTS (SELECT 1 FROM users WHERE sub = '${sub}')`,
  `INSERT OR REPLACE INTO client_secrets SELECT 's${other}', client_id, 's', 'k', 1, NULL FROM clients LIMIT 1`,
];

const initial = [
  ...["a", "b", "c", "d"].map((sub) => addUser(sub, `name-${sub}`)),
  ...["a", "d"].map((sub) => addAddress(sub, `${sub}@x.example`)),
  ...["r1", "r2", "r3"].map((id) => addResource(id, id)),
  ...["i1", "i2", "i3"].map((id) => addIssuer(id, id)),
  ...["v1", "v2", "v3"].map((id) => addInvitation(id, `${id}@x.example`)),
  ...["k1", "k2", "k3"].map(addClient),
  ...["u1", "u2"].map(addUpstream),
  ...addRowsOf("a", "1"),
  ...addRowsOf("d", "2"),
];

async function reset(): Promise<void> {
  const tables = ["users", "resources", "trusted_issuers", "invitations", "clients", "upstreams", "retired_subs"];
  await run(...tables.map((table) => `DELETE FROM ${table}`), ...initial);
}

beforeEach(reset);

describe("a backup that is made while", () => {
  const names = () => column("SELECT sub || ' ' || username FROM users ORDER BY sub");
  const exchange = [rename("a", "none"), rename("d", "name-a"), rename("a", "name-d")];

  it("two people exchange their names keeps both, and the name with the one who had it last", async () => {
    await makeBackup((part) => (part === "users/000001" ? run(...exchange) : undefined));
    await restore();
    expect(await names()).toEqual(["a formerly NAME-A a", "b NAME-B", "c NAME-C", "d NAME-A"]);
    expect(await column("SELECT sub FROM user_passwords ORDER BY sub")).toEqual(["a", "d"]);
  });

  it("a person is erased and signs up again has both, and the name with the new one", async () => {
    const again = ["DELETE FROM users WHERE sub = 'a'", addUser("z", "name-a"), addAddress("z", "a@x.example")];
    await makeBackup((part) => (part === "users/000001" ? run(...again) : undefined));
    await restore();
    expect(await names()).toEqual(["a formerly NAME-A a", "b NAME-B", "c NAME-C", "d NAME-D", "z NAME-A"]);
    expect(await column("SELECT sub FROM user_addresses ORDER BY sub")).toEqual(["d", "z"]);
  });

  it.each([
    ["resources", "resource_id", "identifier", "https://r1", addResource("r9", "r1")],
    ["trusted_issuers", "issuer", "issuer_id", "i1", addIssuer("i9", "i1")],
    ["trusted_issuers", "issuer", "issuer_id", "i1", addIssuer("i9", "i1/")],
    ["invitations", "address_key", "id", "v1", addInvitation("v9", "v1@x.example")],
  ])("%s.%s is given to another record has the later one", async (table, _, id, first, add) => {
    const again = [`DELETE FROM ${table} WHERE ${id} = '${first}'`, add];
    await makeBackup((part) => (part === `${table}/000001` ? run(...again) : undefined));
    const now = await column(`SELECT ${id} FROM ${table} ORDER BY 1`);
    await restore();
    expect([now.length, await column(`SELECT ${id} FROM ${table} ORDER BY 1`)]).toEqual([3, now]);
  });

  const person = fc.constantFrom("a", "b", "c", "d", "e", "z");
  const name = fc.constantFrom("name-a", "name-b", "name-d", "name-e", "name-z");
  const other = fc.constantFrom("1", "2", "9");
  const change = fc.oneof(
    fc.tuple(person, name).map(([sub, to]) => [rename(sub, to)]),
    fc.constant(exchange),
    person.map((sub) => [`DELETE FROM users WHERE sub = '${sub}'`]),
    fc.tuple(person, name).map(([sub, as]) => [addUser(sub, as)]),
    fc
      .tuple(person, person)
      .map(([from, to]) => [
        `DELETE FROM user_addresses WHERE address_key = '${from}@x.example'`,
        addAddress(to, `${from}@x.example`),
      ]),
    fc.tuple(person, other).map(([sub, id]) => addRowsOf(sub, id)),
    fc
      .tuple(other, other)
      .map(([from, to]) => [`DELETE FROM resources WHERE resource_id = 'r${from}'`, addResource(`r${to}`, `r${from}`)]),
    fc
      .tuple(other, other)
      .map(([from, to]) => [
        `DELETE FROM trusted_issuers WHERE issuer_id = 'i${from}'`,
        addIssuer(`i${to}`, `i${from}/`),
      ]),
    fc
      .tuple(other, other)
      .map(([from, to]) => [
        `UPDATE OR IGNORE trusted_issuers SET issuer = 'https://i${from}' WHERE issuer_id = 'i${to}'`,
      ]),
    fc
      .tuple(other, other)
      .map(([from, to]) => [
        `DELETE FROM invitations WHERE id = 'v${from}'`,
        addInvitation(`v${to}`, `v${from}@x.example`),
      ]),
    other.map((id) => [`DELETE FROM clients WHERE client_id = 'k${id}'`]),
    other.map((id) => [addClient(`k${id}`)]),
    other.map((id) => [`DELETE FROM upstreams WHERE upstream_id = 'u${id}'`]),
    other.map((id) => [addUpstream(`u${id}`)]),
  );

  it("anything else happens is restored: everybody who was not deleted is there, once, and no name is taken without need", async () => {
    const histories = fc.array(fc.tuple(fc.nat(24), change), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await reset();
        let part = 0;
        const lived = new Set(await column("SELECT sub FROM users"));
        await makeBackup(async () => {
          const now = history.filter(([at]) => at === part).flatMap(([, statements]) => statements);
          part += 1;
          if (now.length === 0) return;
          await run(...now);
          const present = new Set(await column("SELECT sub FROM users"));
          for (const sub of lived) if (!present.has(sub)) lived.delete(sub);
        });
        await restore();
        const restored = await column("SELECT sub FROM users");
        expect(restored).toEqual(expect.arrayContaining([...lived]));
        expect(new Set(restored).size).toBe(restored.length);
        const needless = await column(
          `SELECT sub FROM users AS u WHERE username_key LIKE 'formerly %' AND NOT EXISTS
             (SELECT 1 FROM users AS o WHERE u.username_key LIKE 'formerly ' || o.username_key || ' %' OR u.username_key LIKE '% ' || o.username_key || ' %')`,
        );
        expect(needless).toEqual([]);
      }),
      { numRuns: LONG_TESTS === "off" ? 8 : 25 },
    );
  }, 120_000);
});

describe("statements that restore a backup", () => {
  it("have at most 100,000 bytes, whatever a row contains", async () => {
    const long = JSON.stringify({ note: "it's €\n🙂".repeat(20_000) });
    await DB.prepare("UPDATE users SET claims = ?1, attributes = ?2 WHERE sub = 'a'").bind(long, "\0'\0").run();
    await makeBackup(() => undefined);
    await run("DELETE FROM users");
    const statements = await restore();
    const longest = Math.max(...statements.map((sql) => new TextEncoder().encode(sql).length));
    expect([longest < 100_000, longest > 20_000]).toEqual([true, true]);
    const [row] = (await DB.prepare("SELECT claims, attributes FROM users WHERE sub = 'a'").all()).results;
    expect(row).toEqual({ claims: long, attributes: "\0'\0" });
  });
});
