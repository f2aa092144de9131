import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { consolePages } from "../../packages/edge-op/src/commands/all-commands.ts";
import type { Command } from "../../packages/edge-op/src/console/command.ts";
import { showMembers, Table } from "../../packages/edge-op/src/console/show.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { Mailbox } from "../../packages/edge-op/src/mailbox.ts";
import { operationCommands } from "../../packages/edge-op/src/operations/operation-commands.ts";
import { wordedOperations } from "../../packages/edge-op/src/operations/words.ts";
import { consoleRoutes } from "../../packages/op-console/src/app.ts";
import { readRepositoryFile, repositoryFiles } from "../../scripts/reference/repository-files.ts";
import { apiDocument, CommandLine, commands } from "./fixtures/command-line.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures } from "./fixtures/provider-fixtures.ts";

/** Every command that is made from the OpenAPI document, against the provider: for people, for programs, and each way to fail. */
const generated = operationCommands(apiDocument);
const own = new CommandLine();
let mailbox: Mailbox;
let provider: LocalProvider;
let fixtures: ProviderFixtures;

/** A scope that another operation needs, and a context whose token has no other. */
const narrowScopes = ["admin:audit", "admin:keys"];

beforeAll(async () => {
  mailbox = await Mailbox.start();
  provider = await startLocalProvider({
    shape: inject("shape"),
    vars: { ...mailbox.variables("commands"), SIGN_UP: "invitation" },
  });
  fixtures = new ProviderFixtures(provider);
  await own.login(provider.issuer, provider.admin);
  for (const scope of narrowScopes) {
    const client = await fixtures.client({ scope, audiences: [`${provider.issuer}/admin`] });
    await own.login(provider.issuer, client, scope);
  }
  await own.require("context", "use", "default");
});
afterAll(async () => {
  await provider.stop();
  mailbox.close();
  own.remove();
});

function nameOf({ words }: Command): string {
  return words.join(" ");
}

function deletes(name: string): boolean {
  return generated.find((command) => nameOf(command) === name)!.options!.some((option) => option.name === "yes");
}

/** Words that make a command reach the provider. */
function anyWords(command: Command): string[] {
  const { words, arguments: named = [] } = command;
  const change = words.at(-1) === "update" ? ["--unset", command.options![0]!.name] : [];
  return [
    ...words,
    ...named.map(() => "nothing-of-this-name"),
    ...(deletes(nameOf(command)) ? ["--yes"] : []),
    ...change,
  ];
}

function scopeOf({ notes = [] }: Command): string {
  return /admin:\w+/.exec(notes.join(" "))![0];
}

/**
 * Commands in the order of a life: what creates comes before what shows and deletes.
 */
const life: readonly (readonly string[])[] = [
  ["clients create", "--client-id", "app", "--redirect-uris", "https://app.example.com/callback", "--scope", "openid"],
  ["clients list", "--all"],
  ["clients show", "app"],
  ["clients update", "app", "--client-name", "Notes", "--no-require-pkce"],
  ["clients secrets rotate", "app", "--overlap-seconds", "60"],
  ["clients secrets list", "app"],
  ["clients secrets show", "app", "$secret_id"],
  ["clients secrets delete", "app", "$secret_id"],
  ["clients delete", "app"],
  [
    "resources create",
    "--resource-id",
    "api",
    "--identifier",
    "https://api.example.com/",
    "--name",
    "API",
    "--clients",
    "any",
  ],
  ["resources list"],
  ["resources show", "api"],
  ["resources update", "api", "--access-token-lifetime", "600"],
  ["resources delete", "api"],
  ["issuers create", "--file", "issuer.yaml"],
  ["issuers list"],
  ["issuers show", "ci"],
  ["issuers update", "ci", "--status", "disabled"],
  ["issuers test", "ci", "--claims", '{"sub":"repo:acme/app"}'],
  ["issuers delete", "ci"],
  [
    "users create",
    "--username",
    "$sub",
    "--sub",
    "$sub",
    "--claims",
    '{"email":"$sub@example.com","email_verified":true}',
    "--roles",
    "editor",
  ],
  ["attributes create", "--attribute", "desk", "--type", "string", "--title", "Desk", "--max-length", "8"],
  ["attributes list"],
  ["attributes show", "desk"],
  ["attributes update", "desk", "--title", "Place of work"],
  ["users update", "$sub", "--attributes", '{"desk":"3.14"}'],
  ["attributes delete", "desk"],
  ["users list"],
  ["users show", "$sub"],
  ["users mail-reset-link", "$sub"],
  ["users temporary-password", "$sub"],
  ["users update", "$sub", "--status", "suspended", "--unset", "roles"],
  ["users factors list", "$sub"],
  ["users identities list", "$sub"],
  ["users sessions list", "$sub"],
  ["users sessions end-all", "$sub"],
  ["users consents list", "$sub"],
  ["users consents end-all", "$sub"],
  ["users grants list", "$sub"],
  ["users grants end-all", "$sub"],
  ["organization-roles set", "billing", "--permissions", "invoices:read"],
  ["organization-roles list"],
  ["organization-roles show", "billing"],
  ["organizations create", "--org-id", "acme", "--name", "Acme"],
  ["organizations list"],
  ["organizations show", "acme"],
  ["organizations update", "acme", "--name", "Acme Ltd"],
  ["organizations invitations create", "acme", "--email", "$sub@acme.example", "--roles", "billing"],
  ["organizations invitations list", "acme"],
  ["organizations domains claim", "acme", "acme.example"],
  ["organizations domains list", "acme"],
  ["organizations domains delete", "acme", "acme.example"],
  ["organizations members set", "acme", "$sub", "--roles", "billing"],
  ["organizations members list", "acme"],
  ["organizations members show", "acme", "$sub"],
  ["users memberships list", "$sub"],
  ["organizations scim-tokens create", "acme", "--name", "Entra"],
  ["organizations scim-tokens list", "acme"],
  ["organizations scim-groups list", "acme"],
  ["organizations members delete", "acme", "$sub"],
  ["organizations delete", "acme"],
  ["organization-roles delete", "billing"],
  ["users export", "$sub"],
  ["users delete", "$sub"],
  ["users create", "--username", "$erased", "--sub", "$erased"],
  ["users erase", "$erased", "--confirm", "$erased"],
  ["invitations create", "--email", "new-$sub@example.com", "--roles", "editor"],
  ["invitations list"],
  ["invitations show", "$invitation_id"],
  ["invitations resend", "$invitation_id"],
  ["invitations delete", "$invitation_id"],
  [
    "upstreams create",
    "--upstream-id",
    "corp",
    "--name",
    "Corp",
    "--issuer",
    "https://idp.example.net",
    "--client-id",
    "op",
    "--client-secret",
    "as it was given",
  ],
  ["upstreams list"],
  ["upstreams show", "corp"],
  ["upstreams update", "corp", "--status", "disabled"],
  ["upstreams delete", "corp"],
  ["roles set", "editor", "--permissions", "documents:read"],
  ["roles list"],
  ["roles show", "editor"],
  ["roles delete", "editor"],
  ["groups set", "staff", "--roles", "editor"],
  ["groups list"],
  ["groups show", "staff"],
  ["groups delete", "staff"],
  ["client-document-hosts set", "agents.example.com", "--policy", "ask"],
  ["client-document-hosts list"],
  ["client-document-hosts show", "agents.example.com"],
  ["client-document-hosts delete", "agents.example.com"],
  ["branding set", "current", "--brand-color", "#8a1253"],
  ["branding show", "current"],
  ["branding delete", "current"],
  ["keys list"],
  ["keys rotate", "--alg", "ES256"],
  ["keys show", "$kid"],
  ["keys revoke", "$kid"],
  ["tokens revoke", "--sub", "somebody"],
  ["shards list"],
  ["shards leases"],
  ["shards open", "--store", "code", "--shards", "8"],
  ["deployment show"],
  ["deployment seal-again"],
  ["held-records list"],
  ["held-records decide", "--decision", "refuse", "--records", '[{"kind":"client","id":"app"}]'],
  ["audit search", "--type", "client.*"],
  ["audit gaps"],
  ["refusals list", "--client-id", "app"],
  ["tokens revoke-everything", "--confirm", "$issuer"],
];

/**
 * Commands that end or show one thing of a person that only a browser makes, or that need a bucket: why they are not in that life, and how they end.
 */
const outside: Readonly<Record<string, readonly [code: number, why: string]>> = {
  "users factors delete": [6, "command-line-tokens and the browser tests make factors"],
  "users identities delete": [6, "an identity is made by a sign-in elsewhere"],
  "users sessions end": [6, "a session is made by a sign-in"],
  "users consents end": [6, "a consent is given by a person"],
  "users grants end": [6, "a grant is made by a sign-in"],
  "organizations invitations delete": [6, "its id is in the response to its creation; op-management withdraws one"],
  "organizations domains check": [6, "it asks resolvers on the internet"],
  "organizations domains decide": [6, "a domain is contested by two organisations that have proven it"],
  "organizations scim-tokens delete": [6, "its id is chosen by the provider; rfc7644 and op-management delete tokens"],
  "organizations scim-groups set": [1, "a directory makes groups"],
  "deployment back-up": [0, "the rehearsal awaits its end"],
};

/** The value of a word that begins with `$`: the newest secret of `app`, the newest key. */
async function fill(word: string, mode: string): Promise<string> {
  // A deleted user's `sub` is not used again.
  if (word.includes("$sub")) return word.replace("$sub", `carol-${mode}`);
  if (word === "$erased") return `dora-${mode}`;
  if (word === "$issuer") return provider.issuer;
  if (word === "$invitation_id") {
    const { json } = await own.require("invitations", "list", "--json");
    return (json["invitations"] as { invitation_id: string }[])[0]!.invitation_id;
  }
  if (word === "$secret_id") {
    const { json } = await own.require("clients", "secrets", "list", "app", "--json");
    return (json["secrets"] as { secret_id: string }[])[0]!.secret_id;
  }
  if (word === "$kid") {
    const { json } = await own.require("keys", "list", "--json");
    return (json["keys"] as { kid: string; state: string }[]).findLast(({ state }) => state === "announced")!.kid;
  }
  return word.replace(/^issuer\.yaml$/, `${own.folder}/$&`);
}

describe("every operation has a command", () => {
  test("whose words are its own, and no option of which hides another", () => {
    const names = commands.map(nameOf);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    const repeated = commands.flatMap((command) => {
      const options = ["context", "json", "help", "version", ...(command.options ?? []).map(({ name }) => name)];
      return options
        .filter((name, index) => options.indexOf(name) !== index)
        .map((name) => `${nameOf(command)} --${name}`);
    });
    expect(repeated).toEqual([]);
  });

  test("a wording names an operation that exists", () => {
    const ids = Object.values(apiDocument.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(wordedOperations.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("and every command that a page names exists", () => {
    const names = commands.map(nameOf);
    const pages = repositoryFiles("docs").filter((path) => path.endsWith(".md"));
    const inPages = pages.flatMap((path) =>
      [...readRepositoryFile(path).matchAll(/`?edge-op ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)*)/g)].map(
        ([, words = ""]) => ({ path, words }),
      ),
    );
    expect(inPages.length).toBeGreaterThan(60);
    const begins = (words: string) =>
      names.some((name) => `${words} `.startsWith(`${name} `) || name.startsWith(`${words} `));
    expect(
      inPages.filter(({ words }) => !begins(words) && !/^(dev|help|complete|init|backup-seal)\b/.test(words)),
    ).toEqual([]);
  });

  test("with a help whose every example is a line that the command accepts", async () => {
    for (const command of commands) {
      const { code, output } = await own.run([...command.words, "--help"]);
      expect([nameOf(command), code]).toEqual([nameOf(command), 0]);
      expect(command.examples.length).toBeGreaterThan(0);
      for (const example of command.examples) {
        expect(output).toContain(example);
        expect(example).toContain(`edge-op ${nameOf(command)}`);
      }
    }
  });
});

describe.each([
  ["for people", []],
  ["for programs", ["--json"]],
] as const)("%s", (form, more) => {
  test("every command of a life succeeds and prints its result", async () => {
    own.file(
      "issuer.yaml",
      "issuer_id: ci\nissuer: https://ci.example.com\njwks_uri: https://ci.example.com/jwks\nalgorithms: [RS256]\nrules: []\n",
    );
    for (const [name = "", ...words] of life) {
      const filled = await Promise.all(words.map((word) => fill(word, form.replaceAll(" ", "-"))));
      const consent = deletes(name) ? ["--yes"] : [];
      const { code, output, errors } = await own.run([...name.split(" "), ...filled, ...more, ...consent]);
      expect([name, code, code === 0 ? "" : errors]).toEqual([name, 0, ""]);
      const hasNoContent = / (delete|mail-reset-link)$|^keys revoke$/.test(name);
      if (hasNoContent) expect([name, output]).toEqual([name, ""]);
      else expect(output + errors).not.toBe("");
      expect(output).not.toContain("[object Object]");
      if (more.length > 0 && !hasNoContent) JSON.parse(output);
    }
  }, 120_000);
});

describe("failures", () => {
  test("bad input: an unknown option, a missing and an additional word are 2, and nothing is sent", async () => {
    const nobody = new CommandLine();
    for (const command of generated) {
      const codes = await Promise.all([
        nobody.run([...anyWords(command), "--no-such-option"]),
        nobody.run([...anyWords(command), "one", "too-many"]),
        ...(command.arguments?.length ? [nobody.run([...command.words])] : []),
      ]);
      expect([nameOf(command), ...new Set(codes.map(({ code }) => code))]).toEqual([nameOf(command), 2]);
    }
    nobody.remove();
  });

  test("nobody is signed in: 3", async () => {
    const nobody = new CommandLine();
    for (const command of generated)
      expect([nameOf(command), (await nobody.run(anyWords(command))).code]).toEqual([nameOf(command), 3]);
    nobody.remove();
  });

  test("no rights: 4, and the scope is named", async () => {
    for (const command of generated) {
      const needed = scopeOf(command);
      const context = narrowScopes.find((scope) => scope !== needed)!;
      const { code, errors } = await own.run([...anyWords(command), "--context", context]);
      expect([nameOf(command), code, errors.includes(needed)]).toEqual([nameOf(command), 4, true]);
    }
    const { code, output } = await own.run(["users", "list", "--json", "--context", "admin:keys"]);
    expect([code, output], "no beginning of a list").toEqual([4, ""]);
  });

  test("each generated command is in that life, or ends as it is stated", async () => {
    const named = new Set([...life.map(([name = ""]) => name), ...Object.keys(outside)]);
    expect(generated.map(nameOf).filter((name) => !named.has(name))).toEqual([]);
    for (const [name, [expected]] of Object.entries(outside)) {
      const command = generated.find((each) => nameOf(each) === name)!;
      expect([name, (await own.run([...anyWords(command), "--json"])).code]).toEqual([name, expected]);
    }
  });

  test("an unknown name is 6", async () => {
    for (const command of generated.filter(
      ({ words, arguments: named = [] }) => named.length > 0 && /^(show|list)$/.test(words.at(-1)!),
    )) {
      expect([nameOf(command), (await own.run(anyWords(command))).code]).toEqual([nameOf(command), 6]);
    }
  });

  test("a body with an unknown member is refused with its name, and as JSON for programs", async () => {
    const file = own.file("wrong.json", { no_such_member: 1 });
    for (const command of generated.filter(({ options = [] }) => options.some(({ name }) => name === "file"))) {
      const { code, errors } = await own.run([...anyWords(command), "--file", file, "--json"]);
      // A test of an issuer that does not exist, or its change, is 6.
      expect([1, 6], nameOf(command)).toContain(code);
      const failure = JSON.parse(errors) as Record<string, unknown>;
      expect(failure["outcome"]).toBe(code === 1 ? "refused" : "notFound");
      if (code === 1) expect(errors).toContain("no_such_member");
    }
  });

  test("the provider is away, and its stores are away: 5, for every command", async () => {
    const server = createServer((_request, response) => {
      response.writeHead(503, { "content-type": "application/json", "retry-after": "1" });
      response.end('{"error":"temporarily_unavailable","error_description":"A backend did not respond. Try again."}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const open = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const closed = `http://127.0.0.1:${await findFreePort("127.0.0.1")}`;
    const tokens = { access_token: "any", expires_at: Math.floor(Date.now() / 1000) + 3600 };
    const nobody = new CommandLine();
    const contexts = {
      stores: { issuer: open, client_id: "admin", client_secret: "any", tokens },
      all: { issuer: closed, client_id: "admin", client_secret: "any", tokens },
    };
    nobody.writeContexts(contexts);
    const results = await Promise.all(
      generated.flatMap((command) =>
        ["stores", "all"].map(async (context) => [
          nameOf(command),
          (await nobody.run([...anyWords(command), "--context", context])).code,
        ]),
      ),
    );
    expect(results.filter(([, code]) => code !== 5)).toEqual([]);
    server.close();
    nobody.remove();
  }, 60_000);
});

test("the end of a whole collection is repeated until nothing is left", async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ended: 20, more: requests < 3 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const user = new CommandLine();
  const tokens = { access_token: "any", expires_at: Math.floor(Date.now() / 1000) + 3600 };
  user.writeContexts({ one: { issuer, client_id: "admin", client_secret: "any", tokens } });
  const { json } = await user.run(["users", "consents", "end-all", "alice", "--context", "one", "--json", "--yes"]);
  expect([json, requests]).toEqual([{ ended: 60, more: false }, 3]);
  server.close();
  user.remove();
});

test("--all reads every page, and --limit and --cursor one; both forms of output have the same items", async () => {
  for (const name of ["p1", "p2", "p3", "p4", "p5"])
    await own.require("roles", "set", name, "--permissions", "documents:read");
  const names = (json: Record<string, unknown>) => (json["roles"] as { role: string }[]).map(({ role }) => role);
  const first = (await own.require("roles", "list", "--limit", "2", "--json")).json;
  expect(names(first)).toEqual(["p1", "p2"]);
  const second = (
    await own.require("roles", "list", "--limit", "2", "--cursor", String(first["next_cursor"]), "--json")
  ).json;
  expect(names(second)).toEqual(["p3", "p4"]);
  const all = (await own.require("roles", "list", "--limit", "2", "--all", "--json")).json;
  expect(names(all)).toEqual(["p1", "p2", "p3", "p4", "p5"]);
  expect(all["next_cursor"]).toBeUndefined();
  const table = (await own.require("roles", "list", "--limit", "2", "--all")).output.trim().split("\n");
  expect(table.map((line) => line.split(" ")[0])).toEqual(["ROLE", "p1", "p2", "p3", "p4", "p5"]);
});

test.each([
  [
    ["roles", "list", "--limit", "2", "-q"],
    ["p1", "p2"],
  ],
  [
    ["roles", "list", "-q", "--all"],
    ["p1", "p2", "p3", "p4", "p5"],
  ],
  [["clients", "list", "--client-id", "admin", "--quiet"], ["admin"]],
  [["users", "list", "--sub", "quiet", "-q"], ["quiet"]],
] as const)("%s prints the ids alone", async (words, ids) => {
  await own.run(["users", "create", "--sub", "quiet", "--username", "named-otherwise"]);
  expect((await own.require(...words)).output).toBe(ids.map((id) => `${id}\n`).join(""));
  expect((await own.run([...words, "--json"])).code).toBe(2);
});

test("every list has -q; an id that begins with a dash is still one", async () => {
  const without = generated.filter(
    ({ options = [] }) => options.some(({ name }) => name === "all") && !options.some(({ name }) => name === "quiet"),
  );
  expect(without.map(nameOf)).toEqual([]);
  expect((await own.run(["users", "show", "-quiet"])).code).toBe(6);
});

describe("edge-op open", () => {
  const listed = (path: string) => consoleRoutes.some((route) => route.path === path);

  test.each(consolePages)("%s is a page of the console", async (page, hasRecords) => {
    const { output } = await own.require("open", page);
    expect([output.trim(), listed(new URL(output.trim()).pathname)]).toEqual([
      expect.stringContaining(provider.issuer),
      true,
    ]);
    const one = await own.run(["open", page, "a/b"]);
    expect([one.code, one.output.trim()]).toEqual(
      hasRecords ? [0, `${provider.issuer}/console/${page}/a%2Fb`] : [2, ""],
    );
    expect(listed(`/console/${page}/:id`)).toBe(hasRecords);
  });

  test("opens the browser of a person, and of nobody else; a page that does not exist is named with similar ones", async () => {
    const visited: string[] = [];
    await own.run(["open"], { visit: (url) => visited.push(url) });
    await own.run(["open"], { answers: [], visit: (url) => visited.push(url) });
    expect(visited).toEqual([`${provider.issuer}/console`]);
    const { code, errors } = await own.run(["open", "user"]);
    expect([code, errors]).toEqual([2, expect.stringContaining('The console has no page "user". Did you mean users?')]);
  });
});

test("a body from the standard input, a file and options: options override, @file is read, --unset removes", async () => {
  const client = { client_id: "merged", client_name: "From the input", grant_types: ["client_credentials"] };
  const policy = own.file("introspection.json", { clients: ["*"] });
  const created = await own.run(["clients", "create", "--file", "-", "--client-name", "From an option", "--json"], {
    input: JSON.stringify(client),
  });
  expect(created.json).toMatchObject({
    client_id: "merged",
    client_name: "From an option",
    grant_types: ["client_credentials"],
  });
  const changed = (
    await own.require(
      "clients",
      "update",
      "merged",
      "--introspection",
      `@${policy}`,
      "--unset",
      "client-name",
      "--json",
    )
  ).json;
  expect(changed).toMatchObject({ introspection: { clients: ["*"] } });
  expect(changed["client_name"]).toBeUndefined();
  expect((await own.run(["clients", "update", "merged", "--unset", "nonsense"])).code).toBe(2);
  expect((await own.run(["clients", "update", "merged", "--jwks", "{"])).errors).toContain("--jwks must be JSON");
});

test("--if-match with another version is 7, and the record stays", async () => {
  await own.require("clients", "create", "--client-id", "versioned", "--grant-types", "client_credentials");
  const { errors } = await own.require("clients", "show", "versioned");
  const [, etag = ""] = /--if-match '([^']+)'/.exec(errors)!;
  await own.require("clients", "update", "versioned", "--if-match", etag, "--client-name", "First");
  expect((await own.run(["clients", "update", "versioned", "--if-match", etag, "--client-name", "Second"])).code).toBe(
    7,
  );
  expect((await own.require("clients", "show", "versioned", "--json")).json["client_name"]).toBe("First");
});

describe("a deletion", () => {
  test.each([
    [["yes"], [], 0],
    [["y"], [], 0],
    [["no"], [], 2],
    [[""], [], 2],
    [undefined, [], 2],
    [undefined, ["--yes"], 0],
  ] as const)("answered by %j, with %j: %i; 2 changes nothing", async (answers, more, expected) => {
    await own.require("roles", "set", "asked", "--permissions", "documents:read");
    const { code, errors } = await own.run(["roles", "delete", "asked", ...more], { ...(answers && { answers }) });
    expect(code).toBe(expected);
    if (answers !== undefined) expect(errors).toContain("/roles/asked");
    if (code === 2) expect(errors).toContain("Nothing was changed.");
    expect((await own.run(["roles", "show", "asked"])).code).toBe(code === 0 ? 6 : 0);
  });

  test("of any kind, where nobody can answer, needs --yes", async () => {
    const deletions = generated.filter((command) => deletes(nameOf(command)));
    expect(deletions.length).toBeGreaterThan(12);
    for (const command of deletions) {
      const words = anyWords(command).filter((word) => word !== "--yes");
      const { code, errors } = await own.run(words);
      expect([nameOf(command), code, errors.includes("--yes")]).toEqual([nameOf(command), 2, true]);
    }
  });
});

test("a change of nothing sends nothing: the version of the record stays", async () => {
  for (const command of generated.filter(({ words }) => words.at(-1) === "update")) {
    const { code, errors } = await own.run([...command.words, "nothing-of-this-name"]);
    expect([nameOf(command), code, errors.startsWith("Nothing to change")]).toEqual([nameOf(command), 2, true]);
  }
});

test("a 409 is 7 only if the id is taken or another change came first; a state that forbids the change is 1", async () => {
  await own.require("clients", "create", "--client-id", "taken", "--grant-types", "client_credentials");
  const taken = await own.run(["clients", "create", "--client-id", "taken", "--grant-types", "client_credentials"]);
  expect([taken.code, taken.errors.includes("client_id")]).toEqual([7, true]);
  const ownClient = await own.run(["clients", "delete", provider.admin.client_id, "--yes"]);
  expect([ownClient.code, ownClient.errors.includes("its own access token")]).toEqual([1, true]);
});

test("characters that a terminal executes, or that hide or reorder text, are shown as escapes", () => {
  expect(new Table(["name"], 40).add([{ name: "\u202egnol" }])).toBe("NAME\n\\u202egnol\n");
  expect(showMembers({ "a\u0007": "\u001b]0;owned\u0007" })).toBe("a\\u0007  \\u001b]0;owned\\u0007\n");
});
