import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { CommandLine } from "./fixtures/command-line.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures } from "./fixtures/provider-fixtures.ts";

/** `edge-op plan` and `edge-op apply`: a deployment as files. */
const own = new CommandLine();
let provider: LocalProvider;
let fixtures: ProviderFixtures;

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape"), vars: { REFRESH_GRACE: "20" } });
  fixtures = new ProviderFixtures(provider);
  await own.login(provider.issuer, provider.admin);
});
afterAll(async () => {
  await provider.stop();
  own.remove();
});

const whole = `
roles:
  editor: [documents:write, documents:read]
groups:
  staff: [editor]
resources:
  notes-api:
    identifier: https://notes-api.example.com/
    name: Notes API
    clients: any
    scopes:
      - { value: "notes:read", description: Read your notes, default: true }
clients:
  notes:
    client_name: Notes
    redirect_uris: [https://notes.example.com/callback]
    scope: openid email
    token_exchange: { subject_clients: [notes], scopes: [email], audiences: [], resources: [], modes: [delegation] }
issuers:
  ci:
    issuer: https://ci.example.com
    jwks_uri: https://ci.example.com/jwks
    rules:
      - rule_id: main
        uses: [assertion]
        claims: { sub: { exact: "repo:acme/app" } }
        client_id: notes
        subject: { type: client }
        resources: ["https://notes-api.example.com/"]
upstreams:
  corp: { name: Corp, issuer: "https://idp.example.net", client_id: op, client_secret_env: CORP_SECRET }
attributes:
  desk:
    type: string
    title: Desk
    claim: { name: desk, scope: "notes:read", tokens: [userinfo], clients: [notes] }
organization-roles:
  billing: [invoices:read]
organizations:
  acme: { name: Acme, require_mfa: true }
branding:
  current: { brand_color: "#8a1253", texts: { sign_in_intro: { en: Hello } } }
`;

interface Shown {
  readonly changes: readonly { readonly kind: string; readonly name: string; readonly action: string }[];
  readonly settings: readonly unknown[];
  readonly secrets?: Readonly<Record<string, string>>;
}

async function apply(content: unknown, name = "declared.yaml") {
  const { code, output, errors } = await own.run(["apply", own.file(name, content), "--yes", "--json"]);
  if (code !== 0) throw new Error(errors);
  return JSON.parse(output) as Shown;
}

async function plan(content: unknown): Promise<Shown> {
  const { json } = await own.require("plan", own.file("planned.yaml", content), "--json");
  return json as unknown as Shown;
}

const named = ({ changes }: Shown) => changes.map(({ kind, name, action }) => `${action} ${kind}.${name}`);

test("apply creates everything in an order that works, with secrets; a second apply and a plan change nothing", async () => {
  const unset = await own.run(["apply", own.file("declared.yaml", whole), "--yes"]);
  expect([unset.code, unset.errors]).toEqual([
    2,
    expect.stringContaining("CORP_SECRET is not set. Nothing was changed"),
  ]);
  own.environment["CORP_SECRET"] = "the secret there";
  const applied = await apply(whole);
  expect(named(applied)).toEqual([
    "create roles.editor",
    "create groups.staff",
    "create resources.notes-api",
    "create clients.notes",
    "create issuers.ci",
    "create upstreams.corp",
    "create attributes.desk",
    "create organization-roles.billing",
    "create organizations.acme",
    "update branding.current",
  ]);
  expect(JSON.stringify(applied)).not.toContain("the secret there");
  expect((await fixtures.admin.call("GET", "/upstreams/corp")).body).toMatchObject({ has_secret: true });
  expect(applied.secrets!["notes"]).toMatch(/^.{40,}$/);
  const before = await fixtures.admin.call("GET", "/clients/notes");
  expect(named(await apply(whole))).toEqual([]);
  expect((await fixtures.admin.call("GET", "/clients/notes")).headers.get("etag")).toBe(before.headers.get("etag"));
  expect((await own.run(["plan", own.file("planned.yaml", whole), "--check"])).code).toBe(0);
});

test("a change elsewhere is found, member by member, and only that member is put back", async () => {
  await fixtures.admin.require("PATCH", "/clients/notes", { client_name: "Changed", access_token_lifetime: 60 });
  await fixtures.admin.require("PUT", "/roles/editor", { permissions: ["documents:read"] });
  const found = await own.run(["plan", own.file("planned.yaml", whole), "--check"]);
  expect(found.code).toBe(1);
  expect(found.output).toContain('~ client_name: "Changed" → "Notes"');
  expect(found.output).toContain("update roles.editor");
  await apply(whole);
  const { body } = await fixtures.admin.call("GET", "/clients/notes");
  // Undeclared members stay.
  expect(body).toMatchObject({ client_name: "Notes", access_token_lifetime: 60 });
});

test("a rule that allows more than is declared is found, though its members contain the declared ones", async () => {
  const { body } = await fixtures.admin.call("GET", "/issuers/ci");
  const rules = (body["rules"] as object[]).map((rule) => ({ ...rule, scopes: ["email"] }));
  await fixtures.admin.require("PATCH", "/issuers/ci", { rules });
  expect(named(await plan(whole))).toEqual(["update issuers.ci"]);
  await apply(whole);
  expect(named(await plan(whole))).toEqual([]);
});

test("null removes a member, and a record; deleting comes last", async () => {
  const less = "clients: { notes: { access_token_lifetime: null }, gone: null }\nroles: { editor: null }\n";
  await fixtures.client({ client_id: "gone" });
  expect(named(await plan(less))).toEqual(["update clients.notes", "delete clients.gone", "delete roles.editor"]);
  await apply(less);
  expect(named(await plan(less))).toEqual([]);
  expect((await fixtures.admin.call("GET", "/clients/notes")).body["access_token_lifetime"]).toBeUndefined();
  await apply(whole);
});

test("the branding is compared by its members and replaced as a whole, and null deletes it", async () => {
  await fixtures.admin.require("PUT", "/branding/current", { font: "serif", texts: { footer: { en: "Below" } } });
  expect(named(await apply(whole))).toEqual(["update branding.current"]);
  expect((await fixtures.admin.call("GET", "/branding/current")).body).toMatchObject({
    brand_color: "#8a1253",
    font: "serif",
    texts: { footer: { en: "Below" }, sign_in_intro: { en: "Hello" } },
  });
  expect(named(await apply("branding: { current: { font: null } }"))).toEqual(["update branding.current"]);
  expect((await fixtures.admin.call("GET", "/branding/current")).body["font"]).toBeUndefined();
  expect(named(await apply("branding: { current: null }"))).toEqual(["delete branding.current"]);
  expect(named(await plan("branding: { current: null }"))).toEqual([]);
  const unknown = await own.run(["plan", own.file("planned.yaml", "branding: { other: { font: serif } }")]);
  expect([unknown.code, unknown.errors]).toEqual([
    2,
    expect.stringContaining("branding.other: there is no such record"),
  ]);
  await apply(whole);
});

describe("two at once lose nothing", () => {
  test.each([
    ["a client", "clients: { notes: { client_name: FIRST } }", "clients: { notes: { client_name: SECOND } }"],
    ["a role", "roles: { editor: [first] }", "roles: { editor: [second] }"],
    ["a new role", "roles: { fresh: [first] }", "roles: { fresh: [second] }"],
    [
      "a new client",
      "clients: { new: { client_name: FIRST, grant_types: [client_credentials] } }",
      "clients: { new: { client_name: SECOND, grant_types: [client_credentials] } }",
    ],
  ])("%s: one of two is refused with 7, and sees the other's change afterwards", async (_, first, second) => {
    const files = [own.file("first.yaml", first), own.file("second.yaml", second)];
    // Both have read before one writes: each waits at its question.
    let waiting = 0;
    let release: () => void = () => undefined;
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    const onNote = (text: string) => {
      if (text.startsWith("Change ")) waiting += 1;
      if (waiting === 2) release();
    };
    const results = await Promise.all(
      files.map((file) => own.run(["apply", file], { answers: ["yes"], onNote, until: both })),
    );
    expect(results.map(({ code }) => code).toSorted()).toEqual([0, 7]);
    const loser = results.findIndex(({ code }) => code === 7);
    expect(results[loser]!.errors).toContain("changed after it was read");
    expect((await own.run(["plan", files[loser]!, "--check"])).code).toBe(1);
    expect((await own.run(["plan", files[1 - loser]!, "--check"])).code).toBe(0);
  });
});

test("settings are compared, never written, and npm run deploy is named", async () => {
  const shown = await own.require(
    "plan",
    own.file("settings.yaml", 'settings: { REFRESH_GRACE: "20", ACCESS_TOKEN_LIFETIME: 600, SESSION_IDLE: "3600" }'),
  );
  expect(shown.output).toContain("differs settings.ACCESS_TOKEN_LIFETIME\n  ~ 3600 → 600");
  expect(shown.output).not.toContain("REFRESH_GRACE");
  expect(shown.output).toContain("npm run deploy");
  expect(shown.errors).toContain("SESSION_IDLE");
});

test("apply asks; without an answer and without --yes it changes nothing", async () => {
  const file = own.file("asked.yaml", "roles: { asked: [first] }");
  expect((await own.run(["apply", file])).code).toBe(2);
  expect((await own.run(["apply", file], { answers: ["no"] })).code).toBe(2);
  expect((await own.run(["roles", "show", "asked"])).code).toBe(6);
});

test("names of a file that would hide a line of the question are shown as they are", async () => {
  const name = "\u001b[5A\u001b[J\nupdate roles.other";
  const path = own.file("hostile.json", JSON.stringify({ clients: { notes: { client_name: "Notes", [name]: "x" } } }));
  const { errors } = await own.run(["plan", path]);
  expect(errors).toContain("\\u001b[5A\\u001b[J\\u000aupdate roles.other");
  expect(errors).not.toContain("\u001b");
  const { output } = await own.run(["plan", own.file("hostile.json", JSON.stringify({ roles: { [name]: ["x"] } }))]);
  expect(output).toContain("create roles.\\u001b[5A\\u001b[J\\u000aupdate roles.other");
});

test("--secrets: a new file for this user alone; an existing one is refused before anything changes", async () => {
  const secrets = join(own.folder, "secrets.json");
  const file = own.file("secret.yaml", "clients: { secretive: { grant_types: [client_credentials] } }");
  const { output } = await own.require("apply", file, "--yes", "--secrets", secrets);
  const { secretive } = JSON.parse(readFileSync(secrets, "utf8")) as { secretive: string };
  expect([output.includes(secretive), statSync(secrets).mode & 0o777]).toEqual([false, 0o600]);
  expect((await own.run(["apply", file, "--yes", "--secrets", secrets])).code).toBe(2);
});

test("a refused record stops the rest, and names itself and what is wrong", async () => {
  const file = own.file(
    "half.yaml",
    "clients: { a: { redirect_uris: ['https://a.example.com/#x'] }, b: { grant_types: [client_credentials] } }\nroles: { before: [x] }",
  );
  const { code, errors } = await own.run(["apply", file, "--yes"]);
  expect(code).toBe(1);
  expect(errors).toContain("clients.a: ");
  expect(errors).toContain("redirect_uris[0]");
  expect(errors).toContain("1 of 3 changes are made");
});

test("a record that the API would refuse is found before another is changed, together with every other one", async () => {
  const file = own.file("late.yaml", "roles: { early: [x] }\nclients: { a: { client_nme: x }, b: { scope: 1 } }");
  for (const words of [["plan"], ["apply", "--yes"]]) {
    const { code, errors } = await own.run([...words, file]);
    expect([code, errors]).toEqual([
      2,
      expect.stringMatching(/clients\.a: .*client_nme[\s\S]*clients\.b: scope: must be/),
    ]);
  }
  expect((await own.run(["roles", "show", "early"])).code).toBe(6);
});

test("a role with holders that gets its first admin scope: 1 with the way to allow it, and --keep-holders allows it", async () => {
  await own.require("users", "create", "--username", "holder", "--sub", "holder", "--roles", "held");
  const file = own.file("held.yaml", "roles: { held: ['admin:audit'] }");
  const { code, errors } = await own.run(["apply", file, "--yes"]);
  expect([code, errors.includes("user holder"), errors.includes("--keep-holders")]).toEqual([1, true, true]);
  expect(errors).not.toContain("changed after it was read");
  await own.require("apply", file, "--yes", "--keep-holders");
  expect((await own.run(["plan", file, "--check"])).code).toBe(0);
});

test.each([
  ["users: { alice: {} }", "People are not declared"],
  ["client: {}", 'no member "client"'],
  ["clients: []", "an object is required"],
  ["clients: { a: [] }", "an object or null is required"],
  ["roles: { a: {} }", "a list or null is required"],
  ["clients: { a: { client_secret: x } }", "secrets are not declared"],
  ["upstreams: { a: { client_secret: x } }", "client_secret_env names an environment variable"],
  ["upstreams: { a: { client_secret_env: 1 } }", "must be the name of an environment variable"],
  ["clients: { a: {}, a: {} }", "neither JSON nor YAML"],
  ["clients: { a: { client_id: b } }", "client_id is the name itself"],
  ["settings: { NO_SUCH: 1 }", "no such variable"],
  ["settings: { REFRESH_GRACE: 4000 }", "REFRESH_GRACE"],
  ["resources: { notes-api: { identifier: https://other.example.com/ } }", "identifier cannot be changed"],
  ["clients: { new: { client_nme: x } }", 'clients.new: there is no member "client_nme". Did you mean client_name?'],
  ["clients: { notes: { client_nme: x } }", 'clients.notes: there is no member "client_nme"'],
  ["clients: { notes: { grant_types: [code] } }", "clients.notes: grant_types[0]: must be one of"],
  ["clients: { notes: { access_token_lifetime: long } }", "clients.notes: access_token_lifetime: must be integer"],
  ["clients: { new: { redirect_uris: [nonsense] } }", "clients.new: redirect_uris[0]: must be a URI"],
  ["clients: { 'a b': { grant_types: [client_credentials] } }", "clients.a b: client_id: "],
  ["resources: { new: { name: New } }", "resources.new: identifier: is required"],
  ["roles: { editor: [1] }", "roles.editor: permissions[0]: must be string"],
  [
    "issuers: { new: { issuer: 'https://new.example.com', rules: [{ use: [] }] } }",
    'rules[0]: there is no member "use"',
  ],
  ["upstreams: { new: { name: New, client_id: op, kind: apple, client_secret_env: A } }", "upstreams.new: "],
  ["attributes: { new: { type: number, title: New, values: [a] } }", "attributes.new: type: must be one of"],
])("%s is 2", async (content, message) => {
  const { code, errors } = await own.run(["plan", own.file("wrong.yaml", content)]);
  expect([code, errors.includes(message)], errors).toEqual([2, true]);
});

test("a folder of files; a name in two of them is refused", async () => {
  const { mkdirSync } = await import("node:fs");
  mkdirSync(join(own.folder, "folder"));
  own.file("folder/a.yaml", "roles: { one: [x] }");
  own.file("folder/b.json", { roles: { two: ["x"] } });
  own.file("folder/readme.md", "# not read");
  const { json } = await own.require("plan", join(own.folder, "folder"), "--json");
  expect(named(json as unknown as Shown)).toEqual(["create roles.one", "create roles.two"]);
  own.file("folder/c.yaml", "roles: { one: [y] }");
  expect((await own.run(["plan", join(own.folder, "folder")])).errors).toContain("declared twice");
  expect(existsSync(join(own.folder, "folder"))).toBe(true);
});
