import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AuthorizationServerMetadata, refreshAuthorization } from "@modelcontextprotocol/client";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { checkSeed } from "../../packages/edge-op/src/demo/read-seed-file.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import type * as Testing from "../../packages/edge-op/testing/testing.ts";
import { randomFrom } from "../simulation/simulated-time.ts";
import { type AgentOptions, type AgentReport, type RefreshResult, runAgent } from "./fixtures/agent-processes.ts";
import { Application } from "./fixtures/application.ts";
import { EmptyFolder } from "./fixtures/packed-package.ts";
import { ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

/** `edge-op` as others get it: from its tarball, in an empty folder. */
const folder = new EmptyFolder();
const page = readFileSync(join(repositoryRoot, "docs/test-provider.md"), "utf8");
const command = folder.file("node_modules/.bin/edge-op");

beforeAll(() => folder.install("edge-op", ["miniflare"]), 240_000);
afterAll(() => folder.remove());

/** The machine's own Node, beside the one of the toolchain. */
function oldestNode(): string {
  const found = (process.env["PATH"] ?? "").split(delimiter).map((path) => join(path, "node"));
  return found.find((path) => existsSync(path) && !path.includes("node_modules")) ?? process.execPath;
}

describe("without the runtime of Workers", () => {
  const bare = new EmptyFolder();
  const program = bare.file("node_modules/.bin/edge-op");
  const cache = bare.file("cache");
  const manifest = JSON.parse(readFileSync(join(repositoryRoot, "packages/edge-op/package.json"), "utf8")) as {
    readonly version: string;
    readonly dependencies: { readonly miniflare: string };
  };
  const runtimeVersion = manifest.dependencies.miniflare;

  beforeAll(async () => {
    const [tarball] = readdirSync(folder.path).filter((name) => name.endsWith(".tgz"));
    await bare.run("npm", ["install", "--offline", "--no-audit", "--no-fund", folder.file(tarball!)]);
  }, 120_000);
  afterAll(() => bare.remove());

  /** Runs the command with a registry that has nothing, and its own cache. */
  async function run(words: readonly string[], node = process.execPath) {
    const child = spawn(node, [program, ...words], {
      cwd: bare.path,
      env: {
        ...process.env,
        XDG_CACHE_HOME: cache,
        npm_config_registry: "http://127.0.0.1:9/",
        npm_config_fetch_retries: "0",
      },
    });
    let output = "";
    const add = (text: string) => {
      output += text;
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", add);
    const ready = new Promise<void>((resolve) =>
      child.stdout.on("data", () => output.includes("Ready in") && resolve()),
    );
    const closed = once(child, "close");
    await Promise.race([closed, ready]);
    if (child.exitCode === null) {
      child.kill("SIGTERM");
      await closed;
    }
    return { code: child.exitCode, output };
  }

  test("the package has no dependency, and its commands for deployments, help and version work", async () => {
    expect(readdirSync(bare.file("node_modules")).filter((name) => !name.startsWith("."))).toEqual(["edge-op"]);
    expect(await run(["--version"])).toEqual({ code: 0, output: `${manifest.version}\n` });
    for (const words of [
      ["help"],
      ["dev", "-h"],
      ["help", "dev"],
      ["init", "-h"],
      ["dev", "--version"],
      ["users", "list", "-h"],
    ])
      expect([words, (await run(words, oldestNode())).code]).toEqual([words, 0]);
  });

  test("dev says what it installs, and what to do if that fails; nothing half installed stays", async () => {
    const { code, output } = await run(["dev", "--port", String(await findFreePort("127.0.0.1"))]);
    expect(code).toBe(2);
    expect(output).toContain(`Installing the runtime of Workers (miniflare ${runtimeVersion}`);
    expect(output).toContain(`npm install --save-dev miniflare@${runtimeVersion}`);
    expect(output).not.toContain("RuntimeError");
    expect(readdirSync(join(cache, "edge-op"))).toEqual([]);
  }, 60_000);

  test("a test is told which package its project needs", async () => {
    const source = 'import { createTestProvider } from "edge-op/testing"; await createTestProvider();';
    writeFileSync(bare.file("needs.js"), source);
    await expect(bare.run("env", [`XDG_CACHE_HOME=${cache}`, process.execPath, "needs.js"])).rejects.toThrow(
      `npm install --save-dev miniflare@${runtimeVersion}`,
    );
  });

  test("the starter and the page name the version of this release", () => {
    expect(readFileSync(bare.file("node_modules/edge-op/dist/starter/package.json"), "utf8")).toContain(
      `"miniflare": "${runtimeVersion}"`,
    );
    expect(page).toContain(`miniflare@${runtimeVersion}`);
  });

  test("dev runs with the runtime that it has installed before", async () => {
    const modules = join(cache, "edge-op", `runtime-${runtimeVersion}`, "node_modules");
    mkdirSync(modules, { recursive: true });
    symlinkSync(join(repositoryRoot, "packages/edge-op/node_modules/miniflare"), join(modules, "miniflare"));
    const { output } = await run(["dev", "--port", String(await findFreePort("127.0.0.1"))]);
    expect(output).toContain("Ready in");
    expect(output).not.toContain("Installing");
  }, 60_000);
});

function blockOf(name: string): string {
  const [, block] = new RegExp(`<!-- ${name} -->\n\`\`\`\\w+\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  if (block === undefined) throw new Error(`the page has no block ${name}`);
  return block;
}

describe("edge-op dev", () => {
  let running: ChildProcess | undefined;
  afterEach(async () => {
    if (running !== undefined) await stop(running);
    running = undefined;
  });

  async function stop(child: ChildProcess): Promise<void> {
    const ended = child.exitCode === null ? once(child, "exit") : undefined;
    child.kill("SIGTERM");
    await ended;
  }

  /** Returns its output until it is ready, or until it ends. */
  async function start(...words: readonly string[]): Promise<string> {
    const child = spawn(command, ["dev", ...words], { cwd: folder.path, stdio: ["ignore", "pipe", "pipe"] });
    running = child;
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const exited = once(child, "exit");
    while (!output.includes("Ready in") && child.exitCode === null)
      await Promise.race([once(child.stdout, "data"), exited]);
    return output;
  }

  async function currentKeys(port: number): Promise<unknown[]> {
    const response = await fetch(`http://localhost:${port}/jwks`);
    return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
  }

  test("the demo's users and clients, which work as printed, and the demo application at the next port", async () => {
    const port = await findFreePort("127.0.0.1");
    const output = await start("--port", String(port));
    const [, secret = ""] = /demo-service +(\S+)/.exec(output) ?? [];
    const authorization = basicAuthorization({ client_id: "demo-service", client_secret: secret });
    const response = await postForm(
      `http://localhost:${port}/token`,
      { grant_type: "client_credentials" },
      { authorization },
    );
    expect([response.status, response.body["scope"]]).toEqual([200, "api:read api:write"]);
    expect((await fetch(`http://localhost:${port + 1}/`)).status).toBe(200);
    expect(output).toContain("alice                        correct horse battery staple");
  });

  test("the command line in the oldest Node of this machine: a client's sign-in, a list, and why a request was refused", async () => {
    const port = await findFreePort("127.0.0.1");
    const output = await start("--port", String(port));
    const [, secret = ""] = /^ +admin +(\S+)/m.exec(output) ?? [];
    const issuer = `http://localhost:${port}`;
    const environment = [`EDGE_OP_ISSUER=${issuer}`, "EDGE_OP_CLIENT_ID=admin", `EDGE_OP_CLIENT_SECRET=${secret}`];
    const run = (...words: readonly string[]) => folder.run("env", [...environment, oldestNode(), command, ...words]);
    expect(await run("help")).toContain("edge-op <command>");
    expect(await run("clients", "list")).toContain("demo-service");
    writeFileSync(folder.file("declared.yaml"), "roles: { declared: [documents:read] }");
    expect(await run("plan", "declared.yaml")).toContain("create roles.declared");
    const refused = await fetch(`${issuer}/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "none" }),
    });
    expect(await run("why", refused.headers.get("request-id")!)).toContain("client-authentication-missing");
  });

  test("--hooks: a Worker of the operator's, bundled by the wrangler of their project; its claims are in tokens", async () => {
    const read = (path: string) => readFileSync(join(repositoryRoot, path), "utf8");
    const port = await findFreePort("127.0.0.1");
    writeFileSync(folder.file("my-hooks.ts"), read("examples/hooks/src/claims-by-client.ts"));
    const words = ["--port", String(port), "--hooks", "my-hooks.ts"];
    expect(await start(...words)).toContain("npm install --save-dev wrangler");
    expect(running!.exitCode).toBe(2);
    folder.link("wrangler", "");
    const output = await start(...words);
    expect(output).toContain("Hooks of my-hooks.ts: claims");
    const [, secret = ""] = /^ +admin +(\S+)/m.exec(output) ?? [];
    const issuer = `http://localhost:${port}`;
    const fixtures = new ProviderFixtures({
      origin: issuer,
      issuer,
      admin: { client_id: "admin", client_secret: secret },
    });
    const shop = await Application.register(fixtures, { client_name: "Shop" });
    const person = await registerPerson(fixtures);
    expect((await shop.signIn(person.browser())).claims).toMatchObject({ customer: { id: person.sub } });
  });

  test("--seed and --data: the page's seed with a secret of its own, and a second start with the same keys", async () => {
    const port = await findFreePort("127.0.0.1");
    writeFileSync(folder.file("seed.json"), blockOf("seed"));
    const words = ["--port", String(port), "--seed", "seed.json", "--data", "data"];
    const secret = "a secret of your own choice";
    expect(await start(...words)).toMatch(/carol +several uncommon words[\s\S]*notes +a secret of your own choice/);
    const keys = await currentKeys(port);
    await stop(running!);
    await start(...words);
    expect(await currentKeys(port)).toEqual(keys);
    const authorization = basicAuthorization({ client_id: "notes", client_secret: secret });
    const refused = await postForm(
      `http://localhost:${port}/token`,
      { grant_type: "client_credentials" },
      { authorization },
    );
    // The client is authenticated, and is not registered for this grant.
    expect([refused.status, refused.body["error"]]).toEqual([400, "unauthorized_client"]);
    expect(readdirSync(folder.file("data"))).toContain("dev.json");
  });

  test.each([
    ["an unknown member", { user: {} }, 'the seed: there is no member "user"'],
    ["metadata that the admin API refuses", { clients: { app: { redirect_uris: ["nonsense"] } } }, "clients.app: "],
    [
      "claims that the admin API refuses",
      { users: { carol: { password: "several uncommon words", claims: { email: 1 } } } },
      "users.carol: ",
    ],
  ])("a seed with %s is refused by the member's name, and nothing keeps running", async (_what, seed, message) => {
    writeFileSync(folder.file("wrong.json"), JSON.stringify(seed));
    const output = await start("--port", String(await findFreePort("127.0.0.1")), "--seed", "wrong.json");
    expect(output).toContain(message);
    expect(output).not.toContain("    at ");
    expect(running!.exitCode).toBe(2);
  });

  test.each([
    [["--port", "x"], "--port must be a number"],
    [["--sede", "a"], "Unknown option '--sede'"],
    [["--seed", "none.json"], "none.json cannot be read"],
  ])("%j is refused with the reason", async (words, message) => {
    expect(await start(...words)).toContain(message);
    expect(running!.exitCode).toBe(2);
  });
});

describe("edge-op init", () => {
  const children: ChildProcess[] = [];
  const paths = () =>
    readdirSync(folder.file("starter"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

  beforeAll(async () => {
    await folder.install("resource-server", ["jose"]);
    for (const [name, version] of Object.entries({ hono: "4", "@hono/node-server": "2", "openid-client": "6" })) {
      folder.link(name, version);
    }
  }, 180_000);
  afterAll(async () => {
    for (const child of children) {
      const ended = once(child, "exit");
      if (child.kill("SIGTERM")) await ended;
    }
  });

  /** Starts a program of the starter; resolves when it says that it is ready. */
  async function start(ready: string, ...words: readonly [string, ...string[]]): Promise<void> {
    const [program, ...rest] = words;
    const child = spawn(program, rest, { cwd: folder.file("starter"), stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    while (!output.includes(ready)) {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}: ${output}`);
      await sleep(20);
    }
  }

  test("at most twenty files; a second time, none is replaced", async () => {
    expect(await folder.run(command, ["init", "starter"])).toContain("npm run provider");
    const written = paths().map(({ name }) => name);
    expect(written.length).toBeLessThanOrEqual(20);
    expect(written).toEqual(expect.arrayContaining([".gitignore", "ci.yml", "production.json", "seed.json"]));
    await expect(folder.run(command, ["init", "starter"])).rejects.toThrow("is not empty: ");
    const { issuer } = JSON.parse(readFileSync(folder.file("starter/deployments/production.json"), "utf8")) as {
      readonly issuer: string;
    };
    expect(issuer).toBe("https://op.example.com");
  });

  test("its test passes: the API refuses a revoked token", async () => {
    expect(await folder.run("sh", ["-c", "cd starter && node --test"])).toMatch(/pass 1\b/);
  }, 60_000);

  test("its application signs a user in, and its API accepts the token", async () => {
    const ports = await Promise.all(["3000", "4000", "8787"].map(() => findFreePort("127.0.0.1")));
    const [appPort, apiPort, providerPort] = ports;
    expect(new Set(ports).size).toBe(3);
    for (const { parentPath, name } of paths()) {
      const path = join(parentPath, name);
      const text = readFileSync(path, "utf8");
      writeFileSync(
        path,
        text
          .replaceAll("localhost:3000", `localhost:${appPort}`)
          .replaceAll("localhost:4000", `localhost:${apiPort}`)
          .replaceAll("localhost:8787", `localhost:${providerPort}`),
      );
    }
    await Promise.all([
      start("Ready in", command, "dev", "--port", String(providerPort), "--seed", "provider/seed.json"),
      start("The API listens", process.execPath, "api/server.js"),
      start("The application listens", process.execPath, "app/server.js"),
    ]);
    const origin = `http://localhost:${appPort}`;
    const login = await fetch(`${origin}/login`, { redirect: "manual" });
    const cookie = login.headers.get("set-cookie")!.split(";")[0]!;
    const carol = new Person(`http://localhost:${providerPort}`, {
      ...{ username: "carol", password: "several uncommon words" },
    });
    const { url } = await carol.visit(login.headers.get("location")!);
    const callback = await fetch(url, { headers: { cookie }, redirect: "manual" });
    const renewed = callback.headers.get("set-cookie")!.split(";")[0]!;
    expect(renewed).not.toBe(cookie);
    const page = await (await fetch(`${origin}/`, { headers: { cookie: renewed } })).text();
    expect(page).toContain("The first note of carol");
    expect((await fetch(`http://localhost:${apiPort}/notes`)).status).toBe(401);
  }, 60_000);
});

test.each([
  [[], "the seed: an object is required"],
  [{ clients: { a: 1 } }, "clients.a: an object is required, not 1"],
  [{ clients: { a: { client_secret: "short" } } }, "clients.a.client_secret: at least 16 characters"],
  [{ users: { a: {} } }, "users.a.password: a text is required"],
  [{ users: { a: { password: "p", role: [] } } }, 'users.a: there is no member "role"'],
  [{ roles: { a: [1] } }, "roles.a[0]: a text is required, not 1"],
])("the seed %j is refused", (seed, message) => {
  expect(() => checkSeed(seed)).toThrow(message);
});

describe("edge-op/testing", () => {
  let testing: typeof Testing;
  let provider: Testing.TestProvider;

  beforeAll(async () => {
    testing = (await import(folder.file("node_modules/edge-op/dist/testing/testing.js"))) as typeof Testing;
    provider = await testing.createTestProvider();
  }, 60_000);
  afterAll(() => provider.close());

  async function userinfo({ issuer }: Testing.TestProvider, token: string): Promise<number> {
    return (await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status;
  }

  test("signIn is the real code flow: the ID token has the provider's signature, and the session signs in again in silence", async () => {
    const { id_token: idToken = "", claims, session } = await provider.signIn("alice", { parameters: { nonce: "n" } });
    const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
    const verified = await jwtVerify(idToken, keys, { issuer: provider.issuer, audience: "demo-app" });
    expect(verified.payload).toMatchObject({ sub: "alice", nonce: "n", amr: ["pwd"] });
    expect(claims).toEqual(verified.payload);
    const query = new URLSearchParams({
      client_id: "demo-app",
      response_type: "code",
      redirect_uri: provider.clients["demo-app"]!.redirect_uris![0]!,
      scope: "openid",
      prompt: "none",
      code_challenge: "a".repeat(43),
      code_challenge_method: "S256",
    });
    const silent = await fetch(`${provider.issuer}/authorize?${query}`, {
      headers: { cookie: session.cookie },
      redirect: "manual",
    });
    expect(new URL(silent.headers.get("location")!).searchParams.has("code")).toBe(true);
  });

  test("what the user says on a page decides: denied consent is the client's error", async () => {
    const client = await provider.createClient({
      redirect_uris: ["http://localhost:3000/callback"],
      scope: "openid email",
    });
    await provider.createUser("dora");
    const options = { client: client.client_id, inputs: { consent: { decision: "deny" } } };
    await expect(provider.signIn("dora", options)).rejects.toThrow("access_denied");
    expect(await provider.signIn("dora", { client: client.client_id })).toMatchObject({ claims: { sub: "dora" } });
  });

  test("each provider has its own state and keys: a token, a user and a client of one are unknown to another", async () => {
    const other = await testing.createTestProvider();
    const [own, foreign] = [await provider.signIn("bob"), await other.signIn("bob")];
    expect(await Promise.all([userinfo(provider, own.access_token), userinfo(other, own.access_token)])).toEqual([
      200, 401,
    ]);
    expect(await userinfo(provider, foreign.access_token)).toBe(401);
    await other.createUser("only-here");
    await expect(provider.admin("GET", "/users/only-here")).rejects.toThrow("404");
    await provider.revoke({ user: "bob" });
    expect(await Promise.all([userinfo(provider, own.access_token), userinfo(other, foreign.access_token)])).toEqual([
      401, 200,
    ]);
    await other.close();
    await expect(userinfo(other, foreign.access_token)).rejects.toThrow("fetch failed");
  });

  test("a token that is revoked is refused, and so are all tokens of a client", async () => {
    const [one, two] = [await provider.signIn("alice"), await provider.signIn("alice")];
    await provider.revoke({ token: one.access_token, client: "demo-app" });
    expect(await Promise.all([userinfo(provider, one.access_token), userinfo(provider, two.access_token)])).toEqual([
      401, 200,
    ]);
    await provider.revoke({ client: "demo-app" });
    expect(await userinfo(provider, two.access_token)).toBe(401);
  });

  test("a clock that moved: tokens, sessions and keys are as after this time, also a year later", async () => {
    const moved = await testing.createTestProvider({ settings: { SESSION_LIFETIME: "7200" } });
    const { access_token: token } = await moved.signIn("alice");
    await moved.advance(3_700);
    expect(await Promise.all([userinfo(moved, token)])).toEqual([401]);
    await moved.advance(365 * 86_400);
    const later = await moved.signIn("alice");
    expect(await userinfo(moved, later.access_token)).toBe(200);
    expect(Math.abs(Number(later.claims!["iat"]) * 1000 - moved.now.getTime())).toBeLessThan(60_000);
    expect(await userinfo(provider, (await provider.signIn("bob")).access_token)).toBe(200);
    await expect(moved.advance(-1)).rejects.toThrow("ahead only");
    await moved.close();
  });

  test("nextMail: a person is told of a change by mail, once, in their language", async () => {
    const claims = { email: "mina@example.com", email_verified: true, locale: "de" };
    await provider.createUser("mina", { password: "several uncommon words", claims });
    await provider.admin("PATCH", "/users/mina", { password: "other quite uncommon words" });
    const mail = await provider.nextMail("mina@example.com");
    expect(mail.subject).toBe("Ein Administrator hat ein neues Passwort für Sie festgelegt");
    expect(mail.text).toContain(`${provider.issuer}/account`);
    await provider.admin("PATCH", "/users/mina", { claims: { email_verified: false } });
    await provider.admin("PATCH", "/users/mina", { password: "third quite uncommon words" });
    await provider.admin("PATCH", "/users/mina", { claims: { email_verified: true } });
    await provider.admin("PATCH", "/users/mina", { password: null });
    // The address was told when it was taken away.
    const ofAddress = "Ein Administrator hat die E-Mail-Adresse Ihres Kontos geändert";
    let subject = ofAddress;
    while (subject === ofAddress) ({ subject } = await provider.nextMail("mina@example.com"));
    expect(subject).toBe("Ein Administrator hat Ihr Passwort entfernt");
    expect((await provider.mailbox()).filter((each) => each.subject !== ofAddress)).toHaveLength(2);
  });

  test("alarms and queues work: the audit log of a provider has its sign-ins, and no others", async () => {
    const other = await testing.createTestProvider();
    await other.createUser("audited");
    await other.signIn("audited");
    let events: unknown[] = [];
    while (events.length === 0) {
      await sleep(100);
      const { events: found } = (await other.admin("GET", "/audit?sub=audited")) as { events: unknown[] };
      events = found;
    }
    const { events: foreign } = (await provider.admin("GET", "/audit?sub=audited")) as { events: unknown[] };
    expect(foreign).toEqual([]);
    await other.close();
  });

  describe("RFC 9700 §4.14.2: four processes of an agent share a refresh token, for six hours", () => {
    const lifetime = 300;
    const service = { token_endpoint_auth_method: "client_secret_basic" };

    async function measure(
      metadata: Readonly<Record<string, unknown>>,
      how: Pick<AgentOptions, "slowestSeconds" | "holds"> & Partial<Pick<AgentOptions, "longestPauseSeconds">>,
    ): Promise<{ readonly report: AgentReport; readonly endsByTheft: boolean }> {
      const agent = await testing.createTestProvider();
      const client = await agent.createClient({
        ...{ redirect_uris: ["http://localhost:3000/callback"], grant_types: ["authorization_code", "refresh_token"] },
        ...{ scope: "openid offline_access", access_token_lifetime: lifetime, token_endpoint_auth_method: "none" },
        ...metadata,
      });
      const scope = "openid offline_access";
      const signedIn = await agent.signIn("alice", { client: client.client_id, scope });
      const response = await fetch(`${agent.issuer}/.well-known/oauth-authorization-server`);
      const authorizationServer = (await response.json()) as AuthorizationServerMetadata;
      let second = 0;
      let newest = signedIn.refresh_token!;
      const refresh = async (refreshToken: string): Promise<RefreshResult> => {
        const { client_secret: secret, ...information } = client;
        const clientInformation = secret === "" ? information : client;
        const options = { metadata: authorizationServer, clientInformation, refreshToken };
        try {
          const tokens = await refreshAuthorization(agent.issuer, options);
          newest = tokens.refresh_token!;
          return { kind: "refreshed", refreshToken: newest, expiresIn: tokens.expires_in! };
        } catch (error) {
          expect(String(error)).toContain("invalid");
          return { kind: "refused" };
        }
      };
      const report = await runAgent({
        longestPauseSeconds: 120,
        ...how,
        first: { refreshToken: signedIn.refresh_token!, expiresAt: lifetime },
        hours: 6,
        random: randomFrom(7),
        at: async (next) => {
          if (next > second) await agent.advance(next - second);
          second = Math.max(second, next);
        },
        refresh,
      });
      // A thief has the first token.
      const isLive = report.refused === 0;
      const endsByTheft =
        isLive &&
        (await refresh(signedIn.refresh_token!)).kind === "refused" &&
        (await refresh(newest)).kind === "refused";
      await agent.close();
      console.log(JSON.stringify({ ...metadata, ...how, ...report }));
      return { report, endsByTheft };
    }

    test.each([
      ["a public client, 30 s", {}, { slowestSeconds: 28, holds: "file" }],
      [
        "a confidential client, 120 s",
        { ...service, refresh_token_grace: 120 },
        { slowestSeconds: 115, holds: "file" },
      ],
      [
        "processes that never read the file again, and are never idle for longer than the grace",
        { ...service, refresh_token_grace: 120 },
        { slowestSeconds: 0, holds: "memory", longestPauseSeconds: 115 },
      ],
    ] as const)("%s: nobody is signed out, and theft ends the grant", async (_, metadata, how) => {
      const { report, endsByTheft } = await measure(metadata, how);
      expect(report.refused).toBe(0);
      expect(report.refreshes).toBeGreaterThan(60);
      expect(report.repeated).toBeGreaterThan(5);
      expect(report.longestSeconds).toBeGreaterThan(15);
      expect(endsByTheft).toBe(true);
    });

    test.each([
      ["30 s are not enough for slow processes", service, { slowestSeconds: 115, holds: "file" }],
      [
        "120 s are not enough for idle processes that never read the file again",
        { ...service, refresh_token_grace: 120 },
        { slowestSeconds: 0, holds: "memory", longestPauseSeconds: 900 },
      ],
    ] as const)("%s", async (_, metadata, how) => {
      expect((await measure(metadata, how)).report.refused).toBe(1);
    });
  });

  test.each([
    ["database", () => provider.createUser("nobody"), "503"],
    ["sessions", () => provider.signIn("alice"), "503"],
    // A request that is too long for the URL of a page is stored.
    ["challenges", () => provider.signIn("alice", { parameters: { ui_locales: "en ".repeat(2_500) } }), "503"],
    ["codes", () => provider.signIn("alice"), "temporarily_unavailable"],
    ["control", () => provider.revoke({ user: "bob" }), "503"],
  ] as const)("a store that fails is unavailable, and works again afterwards: %s", async (store, act, error) => {
    await provider.fail(store);
    await expect(act()).rejects.toThrow(error);
    await provider.fail();
    expect(await provider.signIn("alice")).toMatchObject({ token_type: "Bearer" });
  });

  test("revocations that cannot be read: no token is accepted once the lease has ended", async () => {
    const { access_token: token } = await provider.signIn("alice");
    await provider.fail("revocations");
    while ((await userinfo(provider, token)) === 200) await sleep(50);
    expect(await userinfo(provider, token)).toBe(503);
    await provider.fail();
    expect(await userinfo(provider, token)).toBe(200);
  });

  test("fifty at once in one runtime, and each issues tokens", async () => {
    const startedAt = performance.now();
    const many = await Promise.all(Array.from({ length: 50 }, () => testing.createTestProvider()));
    const createdMs = performance.now() - startedAt;
    const tokens = await Promise.all(
      many.map((each) => each.token("demo-service", { grant_type: "client_credentials" })),
    );
    expect(new Set(tokens.map(({ access_token: token }) => token)).size).toBe(50);
    expect(new Set(many.map(({ issuer }) => issuer)).size).toBe(50);
    console.log(`fifty test providers in ${Math.round(createdMs)} ms`);
    await Promise.all(many.map((each) => each.close()));
  }, 240_000);

  test("the page's example passes in a Vitest of its own, and the host ends by itself", async () => {
    folder.link("vitest", "5");
    writeFileSync(folder.file("page.test.js"), blockOf("test"));
    const own = folder.file("tmp");
    const vitest = join(repositoryRoot, "node_modules/.bin/vitest");
    const output = await folder.run("env", [
      "-C",
      folder.path,
      `TMPDIR=${own}`,
      "sh",
      "-c",
      `mkdir -p tmp && ${vitest} run --hook-timeout=60000 page.test.js`,
    ]);
    expect(output).toContain("1 passed");
    const [sockets = ""] = readdirSync(own).filter((name) => name.startsWith("edge-op-"));
    while (readdirSync(join(own, sockets)).some((name) => name.endsWith(".sock"))) await sleep(100);
  }, 120_000);

  test("the types need nothing of this repository", async () => {
    folder.link("@types/node", "24");
    const source = `import { createTestProvider, type TestProvider } from "edge-op/testing";
export const provider: TestProvider = await createTestProvider({ settings: { SESSION_IDLE: "60" } });
const { session, access_token } = await provider.signIn("alice");
export const cookies: readonly { name: string; value: string; url: string }[] = session.cookies;
export const length: number = access_token.length;
// @ts-expect-error: there is no such store.
await provider.fail("disk");`;
    writeFileSync(folder.file("typed.ts"), source);
    const options = [
      "--strict",
      "--noEmit",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--lib",
      "es2024,esnext.disposable",
    ];
    expect(
      await folder.run(join(repositoryRoot, "node_modules/.bin/tsc"), [...options, "--types", "node", "typed.ts"]),
    ).toBe("");
    expect(existsSync(folder.file("node_modules/edge-op/dist/testing/testing.d.ts"))).toBe(true);
  });
});
