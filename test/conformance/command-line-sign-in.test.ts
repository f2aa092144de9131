import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { exportJWK, generateKeyPair } from "jose";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { totpCode } from "../../load-tests/lib/totp-code.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { CommandLine } from "./fixtures/command-line.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures } from "./fixtures/provider-fixtures.ts";

/** `edge-op login`, contexts and their file. */
const adminScopes = "admin:clients admin:users";
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const alice = { username: "alice", password: "several uncommon words" };
const users: CommandLine[] = [];
let provider: LocalProvider;
let fixtures: ProviderFixtures;

function newUser(): CommandLine {
  const user = new CommandLine();
  users.push(user);
  return user;
}

beforeAll(async () => {
  provider = await startLocalProvider({ shape: inject("shape") });
  fixtures = new ProviderFixtures(provider);
  await fixtures.admin.require("PUT", "/roles/administrator", { permissions: ["admin:clients"] });
  await fixtures.user({ ...alice, sub: "alice", roles: ["administrator"] });
  await fixtures.client({
    ...{ client_id: "edge-op", application_type: "native", token_endpoint_auth_method: "none" },
    ...{
      redirect_uris: ["http://127.0.0.1/callback"],
      grant_types: ["authorization_code", "refresh_token", deviceGrant],
    },
    ...{ scope: adminScopes, audiences: [`${provider.issuer}/admin`] },
  });
});
afterAll(async () => {
  await provider.stop();
  for (const user of users) user.remove();
});

function contextFile(user: CommandLine): string {
  return join(user.environment["EDGE_OP_CONFIG"]!, "contexts.json");
}

describe("a client", () => {
  test("with its secret; the file of contexts is this user's alone", async () => {
    const user = newUser();
    const { admin, issuer } = provider;
    const secret = user.file("secret.txt", `${admin.client_secret}\n`);
    const { output } = await user.require("login", issuer, "--client-secret", `@${secret}`);
    expect(output).toContain("admin:clients");
    expect(statSync(contextFile(user)).mode & 0o777).toBe(0o600);
    expect(statSync(user.environment["EDGE_OP_CONFIG"]!).mode & 0o777).toBe(0o700);
    await user.require("clients", "list");
    chmodSync(contextFile(user), 0o644);
    const refused = await user.run(["clients", "list"]);
    expect([refused.code, refused.errors.includes("chmod 600")]).toEqual([2, true]);
  });

  test("with its key, by private_key_jwt (RFC 7523)", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const own = { kid: "k1", alg: "ES256" };
    await fixtures.client({
      ...{
        client_id: "ci",
        token_endpoint_auth_method: "private_key_jwt",
        jwks: { keys: [{ ...(await exportJWK(publicKey)), ...own }] },
      },
      ...{ scope: "admin:users", audiences: [`${provider.issuer}/admin`] },
    });
    const user = newUser();
    const key = user.file("ci.jwk.json", { ...(await exportJWK(privateKey)), ...own });
    await user.require("login", provider.issuer, "--client-id", "ci", "--key", key);
    await user.require("users", "list");
    expect((await user.run(["clients", "list"])).code).toBe(4);
  });

  test("of the environment, which stores nothing", async () => {
    const user = newUser();
    const { issuer, admin } = provider;
    Object.assign(user.environment, {
      EDGE_OP_ISSUER: issuer,
      EDGE_OP_CLIENT_ID: admin.client_id,
      EDGE_OP_CLIENT_SECRET: admin.client_secret,
    });
    await user.require("clients", "list");
    expect(existsSync(contextFile(user))).toBe(false);
  });

  test("a wrong secret is 3, an unreachable provider 5, and nothing is stored", async () => {
    const user = newUser();
    expect((await user.run(["login", provider.issuer, "--client-secret", "wrong"])).code).toBe(3);
    const closed = `http://127.0.0.1:${await findFreePort("127.0.0.1")}`;
    expect((await user.run(["login", closed, "--client-secret", "wrong"])).code).toBe(5);
    expect((await user.run(["login", "http://op.example.com", "--client-secret", "wrong"])).errors).toContain(
      "https only",
    );
    expect(existsSync(contextFile(user))).toBe(false);
  });
});

describe("a person", () => {
  test("RFC 8252 §7.3: in the browser, with a redirect to a port of the loopback interface; the token is renewed", async () => {
    const user = newUser();
    let arrived: Promise<Response> | undefined;
    const visit = (url: string) => {
      const person = new Person(provider.issuer, alice);
      arrived = walk(person, url).then(async (callback) => {
        // A callback of somebody else does not end the wait.
        expect((await fetch(`${callback.origin}/callback?code=stolen&state=other`)).status).toBe(404);
        return fetch(callback);
      });
    };
    const words = ["login", provider.issuer, "--with", "browser", "--scope", adminScopes];
    const { code, errors } = await user.run(words, { visit });
    expect([code, (await arrived)?.status], errors).toEqual([0, 200]);
    await user.require("clients", "list");
    // Alice's role has no permission admin:users.
    expect((await user.run(["users", "list"])).code).toBe(4);
    const file = JSON.parse(readFileSync(contextFile(user), "utf8"));
    const [name] = Object.keys(file.contexts);
    const { refresh_token: before } = file.contexts[name!].tokens;
    file.contexts[name!].tokens.expires_at = 0;
    writeFileSync(contextFile(user), JSON.stringify(file), { mode: 0o600 });
    await user.require("clients", "list");
    const after = JSON.parse(readFileSync(contextFile(user), "utf8")).contexts[name!].tokens;
    expect(after.refresh_token).not.toBe(before);
    await user.require("logout");
    expect((await user.run(["clients", "list"])).code).toBe(3);
  }, 30_000);

  test("RFC 8628: on another device", async () => {
    const user = newUser();
    let visited: Promise<unknown> | undefined;
    const onNote = (text: string) => {
      const [, url] = /visit (http\S+user_code=\S+)/.exec(text) ?? [];
      if (url === undefined) return;
      const person = new Person(provider.issuer, alice);
      visited = walk(person, url);
    };
    const { code, errors } = await user.run(["login", provider.issuer, "--with", "device", "--scope", adminScopes], {
      onNote,
    });
    await visited;
    expect([code, errors]).toEqual([0, expect.any(String)]);
    await user.require("clients", "list");
  }, 40_000);
});

/** Alice's app, once she has set it up; each of its codes is used once. */
let appKey: string | undefined;
let codesUsed = 0;

/** Signs in with two factors, the second of which is set up at the first sign-in, and allows what is asked. Returns where it ends. */
async function walk(person: Person, url: string): Promise<URL> {
  let page = await person.open(url);
  for (let step = 0; step < 8 && page.kind === "page" && page.html.includes("<form"); step += 1) {
    appKey ??= /id="key">([^<]+)</.exec(page.html)?.[1];
    const isApp = page.name === "enrol" || page.name === "prove-more";
    const code = isApp ? await totpCode(appKey!, Date.now() + 30_000 * codesUsed++) : "";
    page = await person.submit(page, {
      ...{ device: { decision: "allow" }, "sign-in": alice, enrol: { code }, "prove-more": { code } },
      "recovery-codes": { codes: "later" },
    });
  }
  return page.kind === "arrival" ? page.url : new URL(url);
}

describe("a provider that means harm", () => {
  const hostile = "\u001b[5A\u001b[J\u009b2J\u202e";
  let server: Server;
  let issuer: string;
  let metadata: Readonly<Record<string, unknown>>;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const responses: Readonly<Record<string, unknown>> = {
        "/.well-known/openid-configuration": { issuer, token_endpoint: `${issuer}/token`, ...metadata },
        "/device": {
          ...{ device_code: "code", user_code: hostile, expires_in: 60, interval: 0.01 },
          ...{
            verification_uri: `http://there.example/${hostile}`,
            verification_uri_complete: `http://there.example/${hostile}`,
          },
        },
        "/token": { access_token: "at", token_type: "bearer", expires_in: 60, scope: `admin:users ${hostile}` },
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(responses[request.url ?? ""]));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  const endpoints = ["file:///etc/passwd", "javascript:alert(1)", "there", undefined];
  test.each([
    ...endpoints.map((endpoint) => ["browser", "authorization_endpoint", endpoint] as const),
    ...endpoints.map((endpoint) => ["device", "device_authorization_endpoint", endpoint] as const),
    ...endpoints.map((endpoint) => ["client", "token_endpoint", endpoint] as const),
  ])(
    "login --with %s: a metadata document whose %s is %s opens nothing, and is named by a sentence",
    async (flow, member, endpoint) => {
      metadata = { [member]: endpoint };
      const visited: string[] = [];
      const words = ["login", issuer, "--with", flow, ...(flow === "client" ? ["--client-secret", "secret"] : [])];
      const ran = await newUser().run(words, { visit: (url) => void visited.push(url) });
      expect([ran.code, visited]).toEqual([5, []]);
      expect(ran.errors).not.toContain("    at ");
    },
  );

  test("its texts for a device, and its scope, are shown and not executed", async () => {
    metadata = { device_authorization_endpoint: `${issuer}/device` };
    const { code, errors, output } = await newUser().run(["login", issuer, "--with", "device"]);
    expect(code).toBe(0);
    for (const shown of [errors, output]) {
      expect(shown).toContain("\\u001b[5A");
      expect(shown).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    }
  });
});

describe("contexts", () => {
  test("several deployments: list, use, show without secrets, delete", async () => {
    const user = newUser();
    await user.login(provider.issuer, provider.admin, "one");
    await user.login(provider.issuer, provider.admin, "two");
    const { json } = await user.require("context", "list", "--json");
    expect(json["contexts"]).toMatchObject([
      { context: "one", current: false },
      { context: "two", current: true },
    ]);
    expect((await user.require("context", "list")).output).toMatch(/\* +two/);
    await user.require("context", "use", "one");
    const { output } = await user.require("context", "show", "--json");
    expect(JSON.parse(output)).toMatchObject({
      context: "one",
      issuer: provider.issuer,
      client_id: "admin",
      method: "client_secret",
      sub: "admin",
    });
    expect(output).not.toContain(provider.admin.client_secret);
    await user.require("context", "delete", "one");
    expect((await user.run(["clients", "list"])).code).toBe(3);
    await user.require("clients", "list", "--context", "two");
    expect((await user.run(["clients", "list", "--context", "three"])).errors).toContain("Known: two");
  });
});

describe("the command line itself", () => {
  const user = newUser();

  test.each([
    [[], 0, "edge-op <command>"],
    [["help"], 0, "doctor"],
    [["clients"], 2, "A command is missing."],
    [["help", "clients"], 0, "clients secrets rotate"],
    [["clients", "creat"], 2, 'no command "clients creat"'],
    [["nonsense"], 2, 'no command "nonsense"'],
    [["clients", "list", "--statu", "active"], 2, "Did you mean --status?"],
    [["clients", "list", "--status", "dead"], 2, "one of active, disabled"],
    [["roles", "list", "--limit", "many"], 2, "must be a number"],
    // Ids are base64url; these words are in their places, so a sign-in is what is missing.
    [["keys", "show", "-Ab"], 3, "edge-op login"],
    [["users", "consents", "end", "-sub", "--yes", "app"], 3, "edge-op login"],
    [["keys", "show", "--", "--Ab"], 3, "edge-op login"],
    [["keys", "show", "-Ab", "-Cd"], 2, '"-Cd" is one word too many'],
  ] as const)("%j ends with %i", async (words, code, text) => {
    const ran = await user.run(words);
    expect(ran.code).toBe(code);
    expect(ran.output + ran.errors).toContain(text);
  });

  test.each([
    [["cl"], ["client-document-hosts", "clients"]],
    [
      ["clients", ""],
      ["create", "delete", "list", "secrets", "show", "update"],
    ],
    [["clients", "secrets", "r"], ["rotate"]],
    [["clients", "list", "--st"], ["--status"]],
    [
      ["clients", "list", "--status", ""],
      ["active", "disabled"],
    ],
    [["login", "https://op.example.com", "--with", "b"], ["browser"]],
  ])("completion of %j", async (words, expected) => {
    const { output } = await user.require("complete", ...words);
    expect(output.trim().split("\n")).toEqual(expected);
  });

  test("the script of bash completes in bash", async () => {
    const { output } = await user.require("completion", "bash");
    const words = (await user.require("complete", "clients", "se")).output;
    const shell = `edge-op() { printf '%s' "$FOUND"; }\n${output}\nCOMP_WORDS=(edge-op clients se); COMP_CWORD=2; _edge_op; echo "\${COMPREPLY[@]}"`;
    expect(
      execFileSync("bash", ["-c", shell], { env: { ...process.env, FOUND: words }, encoding: "utf8" }).trim(),
    ).toBe("secrets");
  });

  test.each(["bash", "zsh", "fish"])("the script for %s asks for the words", async (shell) => {
    expect((await user.require("completion", shell)).output).toContain("edge-op complete");
  });
});
