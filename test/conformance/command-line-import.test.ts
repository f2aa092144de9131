import { appendFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { Failure } from "../../packages/edge-op/src/console/failure.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { firebaseHash, firebasePassword, importedHashes, importedPassword } from "../fixtures/imported-hashes.ts";
import { Application } from "./fixtures/application.ts";
import { CommandLine } from "./fixtures/command-line.ts";
import { sources } from "./fixtures/import-sources.ts";
import { sourcesOfApis } from "./fixtures/import-sources-of-apis.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures } from "./fixtures/provider-fixtures.ts";

/** `edge-op import` and `edge-op export`. */
const own = new CommandLine();
let provider: LocalProvider;
let fixtures: ProviderFixtures;

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape") });
  fixtures = new ProviderFixtures(provider);
  await own.login(provider.issuer, provider.admin);
  const google = { name: "Google", kind: "google", client_id: "op", client_secret: "s" };
  await fixtures.admin.require("POST", "/upstreams", { upstream_id: "google", ...google });
});
afterAll(async () => {
  await provider.stop();
  own.remove();
});

function linesOf(path: string): Record<string, unknown>[] {
  const texts = readFileSync(path, "utf8").trim().split("\n");
  return texts.map((text) => JSON.parse(text) as Record<string, unknown>);
}

async function exported(): Promise<Record<string, unknown>[]> {
  const out = join(own.folder, `export-${Math.random()}.jsonl`);
  await own.require("export", "users", "--out", out);
  expect(statSync(out).mode & 0o777).toBe(0o600);
  return linesOf(out);
}

describe.each([...sources, ...sourcesOfApis])(
  "files of $from",
  ({ from, files, options, users, leftOut, skipped = 0, mustSetPassword = 0, withoutPermissions }) => {
    test("become users with what they have, and a second run changes nothing", async () => {
      const [path = "", beside] = files.map(({ name, content }) => own.file(name, content));
      const report = join(own.folder, `${from}-report.jsonl`);
      const words = ["import", "users", path, "--from", from, ...options, ...(beside ? ["--beside", beside] : [])];
      const dry = await own.require(...words, "--dry-run", "--json");
      const all = { read: users.length + skipped, refused: 0, left_out: skipped, must_set_password: mustSetPassword };
      const without = withoutPermissions === undefined ? {} : { without_permissions: withoutPermissions };
      expect(dry.json).toEqual({ dry_run: true, ...all, created: users.length, exists: 0, ...without });
      const ran = await own.run([...words, "--report", report, "--json"]);
      expect([ran.code, ran.json]).toEqual([0, { ...all, created: users.length, exists: 0, ...without }]);
      const stored = await exported();
      for (const user of users) {
        expect(stored.find(({ sub }) => sub === user.sub)).toMatchObject(user);
      }
      const reported = readFileSync(report, "utf8") === "" ? [] : linesOf(report);
      expect(reported.map((line) => line["left_out"])).toEqual(leftOut);
      const again = { ...all, created: 0, exists: users.length, must_set_password: 0, ...without };
      expect((await own.require(...words, "--json")).json).toEqual(again);
    });
  },
);

test("update users changes many users from a file; a line that is refused is named, and the others apply", async () => {
  for (const sub of ["m1", "m2"]) await fixtures.admin.require("POST", "/users", { sub, username: sub });
  const lines = [
    '{"sub":"m1","claims":{"name":"Émile Zola"}}',
    '{"sub":"nobody","roles":[]}',
    '{"sub":"m2","username":"other"}',
    "{",
    '{"sub":"m2","claims":{"nickname":"M"}}',
  ];
  const { code, errors, output } = await own.run(["update", "users", own.file("updates.jsonl", lines.join("\n"))]);
  expect([code, output]).toEqual([1, expect.stringMatching(/read +5\nupdated +2\nunchanged +0\nrefused +3\n/)]);
  expect(errors).toMatch(/^2 nobody: sub: is no user's\n3 m2: username: .*\n4: is no JSON/);
  const found = await own.require("users", "list", "--search", "zola emi", "--json");
  expect(found.json).toMatchObject({ users: [{ sub: "m1" }] });
  for (const sub of ["m1", "m2"]) await fixtures.admin.require("DELETE", `/users/${sub}`);
});

test("an import of deleted users is refused: their subs are never given again", async () => {
  const before = await exported();
  const path = own.file("again.jsonl", before.map((line) => JSON.stringify(line)).join("\n"));
  for (const { sub } of before) await fixtures.admin.require("DELETE", `/users/${encodeURIComponent(String(sub))}`);
  const refused = await own.run(["import", "users", path, "--json"]);
  expect([refused.code, refused.json]).toMatchObject([1, { created: 0, exists: 0, refused: before.length }]);
});

test("refused lines are named with the reason, the others are imported; --skip leaves out the first", async () => {
  const lines = [
    { sub: "l1", username: "l1" },
    { sub: "l2", username: "l1" },
    { sub: "l3", username: "l3" },
  ];
  const path = own.file("lines.jsonl", lines.map((line) => JSON.stringify(line)).join("\n"));
  expect((await own.require("import", "users", path, "--skip", "2", "--json")).json).toMatchObject({ created: 1 });
  const { code, errors, output } = await own.run(["import", "users", path]);
  expect([code, errors]).toEqual([1, expect.stringContaining("2 l2 (l1): username: is taken")]);
  expect(output).toMatch(/read +3\ncreated +1\nexists +1\nrefused +1/);
});

test("a line that no request can have is refused by itself, and so is one with a role that the token may not give", async () => {
  await fixtures.admin.require("PUT", "/roles/operators", { permissions: ["admin:keys"] });
  const lines = [
    ...['{"sub":"r1","username":"r1"}', '{"sub":"r2",', '{"sub":"r3","username":"r3","roles":["operators"]}'],
    `{"sub":"r4","username":"r4","claims":{"name":"${"x".repeat(300_000)}"}}`,
    `{"sub":"r5","username":"r5","claims":{"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}}`,
    ...['{"sub":"r6","username":"\\ud800"}', "\r", '{"sub":"r7","username":"r7"}'],
  ];
  const limited = await fixtures.client({ scope: "admin:users", audiences: [`${provider.issuer}/admin`] });
  await own.login(provider.issuer, limited, "limited");
  const path = own.file("refused.jsonl", lines.join("\n"));
  const { code, errors, output } = await own.run(["import", "users", path, "--context", "limited"]);
  await own.require("context", "use", "default");
  expect([code, output]).toEqual([1, expect.stringMatching(/read +7\ncreated +2\nexists +0\nrefused +5\n/)]);
  expect(errors).toMatch(
    /^2 r2: is no JSON\n3 r3: insufficient_scope: .* The scope admin:keys is required.*\n4 r4: has 294 KiB, and a request has 255 KiB at most\n5 r5: .*\n6 r6/,
  );
});

test("--without-unusable-hashes lets people in without a hash that is too expensive or unknown, and counts them", async () => {
  const users = [
    { sub: "h1", username: "h1", password_hash: `$2b$15$${"a".repeat(53)}` },
    { sub: "h2", username: "h2", password_hash: "{SSHA}c2VjcmV0" },
    { sub: "h3", username: "h3", password_hash: importedHashes[0]![1] },
  ];
  const path = own.file("hashes.jsonl", users.map((user) => JSON.stringify(user)).join("\n"));
  const refused = await own.run(["import", "users", path, "--json", "--dry-run"]);
  expect([refused.code, refused.json]).toMatchObject([1, { created: 1, refused: 2, must_set_password: 0 }]);
  const report = join(own.folder, "hashes-report.jsonl");
  const { json } = await own.require(
    "import",
    "users",
    path,
    "--without-unusable-hashes",
    "--report",
    report,
    "--json",
  );
  expect(json).toMatchObject({ read: 3, created: 3, refused: 0, must_set_password: 2 });
  const lost = ["password_hash, which cannot be used"];
  expect(linesOf(report)).toMatchObject([
    { line: 1, sub: "h1", left_out: lost },
    { line: 2, left_out: lost },
  ]);
});

test("Ctrl-C ends after the batches in flight and says how to continue; a person sees a bar", async () => {
  const line = (index: number) =>
    JSON.stringify({ sub: `c${index}`, username: `c${index}`, claims: { name: "x".repeat(200) } });
  const path = own.file("long.jsonl", Array.from({ length: 2000 }, (_, index) => line(index)).join("\n"));
  let notes = 0;
  const interrupt = () => {
    notes += 1;
    // The listener of the command, as a signal would call it.
    if (notes === 1) process.listeners("SIGINT").at(-1)!("SIGINT");
  };
  const words = ["import", "users", path, "--dry-run", "--parallel", "1"];
  const { code, errors } = await own.run(words, { answers: [], onNote: interrupt });
  expect(code).toBe(5);
  expect(errors).toMatch(/^\r\[#+-+\] 250 records \(\d+ %\)/);
  expect(errors).toMatch(/Interrupted\.\n(\d+) records are done: the same command with --skip \1 continues\./);
});

test("an export replaces no file, nor a part of something else", async () => {
  const [out, other, third] = [
    own.file("precious.jsonl", "precious"),
    join(own.folder, "new.jsonl"),
    join(own.folder, "third.jsonl"),
  ];
  own.file("new.jsonl.part", "");
  const part = own.file("third.jsonl.part", "{}\n");
  own.file("third.jsonl.part.json", { source: "users of elsewhere", cursor: "x", bytes: 3, count: 1 });
  const ran = [out, other, third].map((path) => own.run(["export", "clients", "--out", path]));
  const [taken, interrupted, foreign] = await Promise.all(ran);
  expect([taken!.code, interrupted!.code, foreign!.code]).toEqual([2, 2, 2]);
  expect(interrupted!.errors).toContain("new.jsonl.part is there, and has no whole page of an export: delete it");
  expect(foreign!.errors).toContain("third.jsonl.part is there, of an export of users of elsewhere: delete it");
  expect([readFileSync(out, "utf8"), readFileSync(part, "utf8")]).toEqual(["precious", "{}\n"]);
});

test("an export that was interrupted continues with the same command: every line once", async () => {
  const people = Array.from({ length: 450 }, (_, at) => ({ sub: `page${at}`, username: `page${at}` }));
  await own.require("import", "users", own.file("pages.jsonl", people));
  const out = join(own.folder, "continued.jsonl");
  const words = ["export", "users", "--out", out];
  const interrupt = (text: string) => {
    if (text.includes("400 users")) throw new Failure("unavailable", "Interrupted.");
  };
  expect((await own.run(words, { answers: [], onNote: interrupt })).code).toBe(5);
  // As an interruption within a page leaves it.
  appendFileSync(`${out}.part`, '{"sub":"pag');
  const { code, errors } = await own.run(words);
  expect([code, errors]).toEqual([0, expect.stringContaining(`Continues after the 400 users of ${out}.part.`)]);
  const subs = readFileSync(out, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { readonly sub: string }).sub);
  expect(subs).toEqual((await exported()).map(({ sub }) => sub));
  expect(people.filter(({ sub }) => !subs.includes(sub))).toEqual([]);
  expect(readdirSync(own.folder).filter((name) => name.startsWith("continued"))).toEqual(["continued.jsonl"]);
});

test.each<[string, string[]]>([
  ["a file that is not there", ["nowhere.jsonl"]],
  ["Firebase without the parameters of its hashes", ["firebase", "--from", "firebase"]],
  ["parameters of another hash", ["firebase", "--from", "firebase", "--beside", "md5"]],
  ["too many requests", ["broken", "--parallel", "17"]],
  ["an upstream provider without a name", ["broken", "--upstreams", "google"]],
])("%s ends with 2 before anything changes", async (_, [file = "", ...options]) => {
  own.file("broken", "{");
  own.file("md5", "algorithm: MD5");
  own.file("firebase", { users: [{ localId: "f", passwordHash: "aGFzaA", salt: "c2FsdA" }] });
  const words = options.map((word) => (word === "md5" ? join(own.folder, word) : word));
  expect((await own.run(["import", "users", join(own.folder, file), ...words])).code).toBe(2);
});

test("clients of Keycloak keep ids and secrets; one that is refused is named; an export has no secret", async () => {
  const realm = own.file("realm.json", {
    clients: [
      { clientId: "account", redirectUris: ["/realms/acme/account/*"] },
      {
        ...{
          clientId: "shop",
          name: "Shop",
          secret: "k9eNfLz3qVb5XwT2mJ8dRc7HsYpA4GuE",
          clientAuthenticatorType: "client-secret",
        },
        ...{
          standardFlowEnabled: true,
          redirectUris: ["https://shop.example.com/callback"],
          directAccessGrantsEnabled: true,
        },
        ...{ defaultClientScopes: ["profile", "email", "roles"], optionalClientScopes: ["offline_access"] },
        attributes: { "post.logout.redirect.uris": "https://shop.example.com/" },
      },
      { clientId: "wild", publicClient: true, standardFlowEnabled: true, redirectUris: ["https://shop.example.com/*"] },
    ],
  });
  const { code, errors, output } = await own.run(["import", "clients", realm, "--from", "keycloak"]);
  expect([code, errors]).toEqual([1, expect.stringContaining("wild: redirect_uris[0]")]);
  expect(output).toMatch(/read +3\ncreated +1\nexists +0\nrefused +1\nleft_out +1/);
  expect((await fixtures.admin.call("GET", "/clients/shop")).body).toMatchObject({
    ...{ client_name: "Shop", scope: "openid profile email offline_access" },
    ...{
      post_logout_redirect_uris: ["https://shop.example.com/"],
      grant_types: ["authorization_code", "refresh_token"],
    },
  });
  const out = join(own.folder, "clients.jsonl");
  await own.require("export", "clients", "--out", out);
  expect(readFileSync(out, "utf8")).not.toContain("k9eNfLz3");
  const again = await own.require("import", "clients", out, "--json");
  expect(again.json).toMatchObject({ created: 0, refused: 0 });
});

test("people whose hashes came from elsewhere are exported to a second provider, sign in there, and get a new hash", async () => {
  const people = [...importedHashes, ["Firebase", firebaseHash] as const].map(([name, hash], index) => ({
    line: { sub: `old|${index}/a:b`, username: `moved-${index}`, password_hash: hash },
    password: name === "Firebase" ? firebasePassword : importedPassword,
  }));
  const lines = (all: readonly object[]) => all.map((line) => JSON.stringify(line)).join("\n");
  await own.require("import", "users", own.file("elsewhere.jsonl", lines(people.map(({ line }) => line))));
  const isMoved = ({ sub }: Record<string, unknown>) => String(sub).startsWith("old|");
  const leaving = own.file("leaving.jsonl", lines((await exported()).filter(isMoved)));

  const second = await startLocalProvider({ shape: inject("shape") });
  try {
    await own.login(second.issuer, second.admin, "second");
    const { json } = await own.require("import", "users", leaving, "--json");
    expect(json).toMatchObject({ created: people.length, exists: 0, refused: 0 });
    const application = await Application.register(new ProviderFixtures(second));
    const signIn = async ({ line: { sub, username }, password }: (typeof people)[number]) => {
      const { claims } = await application.signIn(new Person(second.issuer, { username, password }));
      expect(claims.sub).toBe(sub);
    };
    for (const person of people) await signIn(person);
    const replaced = async () => (await exported()).filter(isMoved).map(({ password_hash: hash }) => String(hash));
    await expect.poll(async () => (await replaced()).filter((hash) => !hash.startsWith("$scrypt$"))).toEqual([]);
    const before = new Set(people.map(({ line }) => line.password_hash));
    expect((await replaced()).filter((hash) => before.has(hash))).toEqual([]);
    for (const person of people) await signIn(person);
  } finally {
    await second.stop();
    await own.require("context", "use", "default");
  }
}, 120_000);
