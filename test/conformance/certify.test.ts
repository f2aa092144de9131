import { execFile, spawn } from "node:child_process";
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { demoUsers } from "../../examples/application/src/demo.ts";
import { seedDemo } from "../../packages/edge-op/src/demo/seed-demo.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { type Page, Person } from "../../packages/edge-op/testing/person.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { proxiedFetch } from "./fixtures/proxied-fetch.ts";

/** docs/operating/certify.md, executed as written: each marked block, in one shell, in a directory like the repository's. */
interface Task {
  readonly match: string;
  readonly commands: readonly (readonly (string | number)[])[];
}

interface Configuration {
  readonly server: { readonly discoveryUrl: string; readonly allow_unexpected_metadata_fields: readonly string[] };
  readonly client: Credentials;
  readonly client2: Credentials;
  readonly client_secret_post: Credentials;
  readonly override: Readonly<Record<string, { readonly client?: Credentials; readonly browser?: Browser }>>;
  readonly browser: Browser;
}

type Browser = readonly { readonly match: string; readonly "match-limit"?: number; readonly tasks: readonly Task[] }[];

interface FapiClient extends Pick<Credentials, "client_id"> {
  readonly scope: string;
  readonly jwks: { readonly keys: readonly object[] };
  readonly dpop_signing_alg: string;
}

interface FapiConfiguration {
  readonly server: { readonly discoveryUrl: string };
  readonly resource: { readonly resourceUrl: string };
  readonly browser: Browser;
  readonly override: Readonly<Record<string, { readonly browser: Browser }>>;
  readonly client: FapiClient;
  readonly client2: FapiClient;
  readonly mtls: { readonly cert: string };
  readonly mtls2: { readonly cert: string };
}

interface Credentials {
  readonly client_id: string;
  readonly client_secret: string;
}

const suite = "https://localhost:8443";
const callback = `${suite}/test/a/edge-op/callback`;
const directory = mkdtempSync(join(tmpdir(), "edge-op-certify-"));
const page = readFileSync(join(repositoryRoot, "docs/operating/certify.md"), "utf8");
let provider: LocalProvider;
let output: string;
let configuration: Configuration;

beforeAll(async () => {
  const issuer = `https://localhost:${await findFreePort("127.0.0.1")}`;
  const proxyKey = "the key of the proxy, which the page uses if it is there";
  const hash = createHash("sha256").update(proxyKey).digest("hex");
  provider = await startLocalProvider({
    vars: { ISSUER: issuer, MTLS_PROXY_KEY_SHA256: hash, CLIENT_REGISTRATION: "open" },
  });
  mkdirSync(join(directory, ".op"));
  writeFileSync(join(directory, ".op/proxy.key"), proxyKey);
  const dev = await seedDemo(provider, join(directory, ".op/dev.json"), "http://localhost:8788", {
    mcp: "http://localhost:8789/mcp",
    api: "http://localhost:8790/",
  });
  writeFileSync(join(directory, ".op/dev.json"), JSON.stringify(dev));
  for (const script of ["tls-proxy", "register-fapi-clients"]) {
    cpSync(join(repositoryRoot, `scripts/demo/${script}.mjs`), join(directory, `scripts/demo/${script}.mjs`));
  }
  const blocks = [...page.matchAll(/<!-- walk -->\n```sh\n([\s\S]*?)```/g)].map(([, block]) => block!);
  const script = ["trap 'kill $(jobs -p)' EXIT", ...blocks].join("\n");
  const env = { ...process.env, ISSUER: issuer, PORT: new URL(provider.origin).port };
  const { stdout } = await promisify(execFile)("bash", ["-eu", "-o", "pipefail", "-c", script], {
    cwd: directory,
    env,
  });
  output = stdout;
  configuration = JSON.parse(readFileSync(join(directory, ".op/suite.json"), "utf8")) as Configuration;
}, 180_000);

afterAll(async () => {
  await provider.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function registered({ client_id }: Pick<Credentials, "client_id">): Promise<Record<string, unknown>> {
  return new AdminApi(provider.origin, provider.admin).require("GET", `/clients/${client_id}`);
}

function authorizationUrl(more: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(`${provider.issuer}/authorize`);
  const { client_id } = configuration.client;
  const parameters = { response_type: "code", client_id, redirect_uri: callback, scope: "openid email", state: "s" };
  url.search = new URLSearchParams({ ...parameters, ...more }).toString();
  return url;
}

const toPattern = (match: string) =>
  new RegExp(`^${match.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`);

/** The form in the page of an element that a command names. */
const selectors: Readonly<Record<string, RegExp>> = {
  "id sign-in": /id="sign-in"/,
  "id password": /<input id="password"/,
  "css #username:not([readonly])": /<input id="username"(?![^>]* readonly)[^>]*>/,
  "id allow": /id="allow"/,
  "id cancel": /id="cancel"/,
  "id sign-out": /id="sign-out"/,
  "xpath //h1": /<h1/,
  "xpath //body": /<body/,
};

/** The commands of the matching tasks that have an effect on a page; required ones must find their element. */
function commandsFor(start: string, url: string, { html }: Page, browser = configuration.browser): Task["commands"] {
  const entry = browser.find(({ match }) => toPattern(match).test(start));
  const tasks = (entry?.tasks ?? []).filter(({ match }) => toPattern(match).test(url));
  if (tasks.length === 0) throw new Error(`no task matches ${url}`);
  return tasks
    .flatMap(({ commands }) => commands)
    .filter((command) => {
      const isThere = selectors[`${command[1]} ${command[2]}`]!.test(html);
      if (command.at(-1) !== "optional") expect(isThere, command.join(" ")).toBe(true);
      return isThere;
    });
}

const namesOf = (commands: Task["commands"]) => commands.map(([command, , target]) => `${command} ${target}`);
const typedIn = (commands: Task["commands"]) =>
  Object.fromEntries(
    commands
      .filter(([command]) => command === "text")
      .map(([, , target, value]) => [/\w+/.exec(String(target))![0], String(value)]),
  );
const screenshots = (commands: Task["commands"]) =>
  commands.filter((command) => command.at(-1) === "update-image-placeholder-optional");

describe("docs/operating/certify.md, followed literally", () => {
  test("registers each client as its modules require", async () => {
    const { client, client2, client_secret_post, override } = configuration;
    const backchannel = override["oidcc-backchannel-rp-initiated-logout"]!.client!;
    const frontchannel = override["oidcc-frontchannel-rp-initiated-logout"]!.client!;
    for (const each of [client, client2, client_secret_post, backchannel, frontchannel]) {
      expect(await registered(each)).toHaveProperty("id_token_claims", "requested");
    }
    expect(await registered(frontchannel)).toMatchObject({
      frontchannel_logout_uri: `${suite}/test/a/edge-op/frontchannel_logout`,
      frontchannel_logout_session_required: true,
    });
    expect(await registered(client)).not.toHaveProperty("frontchannel_logout_uri");
    expect(await registered(client)).toMatchObject({ redirect_uris: [callback], require_pkce: false });
    expect(await registered(client)).not.toHaveProperty("backchannel_logout_uri");
    expect(await registered(client2)).toMatchObject({
      redirect_uris: [callback, `${callback}?dummy1=lorem&dummy2=ipsum`],
    });
    expect(await registered(client_secret_post)).toMatchObject({ token_endpoint_auth_method: "client_secret_post" });
    expect(await registered(backchannel)).toMatchObject({
      backchannel_logout_uri: `${suite}/test/a/edge-op/backchannel_logout`,
    });
  });

  test("points the suite at the issuer, not at the suite's own address", () => {
    expect(configuration.server.discoveryUrl).toBe(`${provider.issuer}/.well-known/openid-configuration`);
    const [, issuer = ""] = /ISSUER:-([^}]+)/.exec(page)!;
    expect(new URL(issuer).origin).not.toBe(new URL(suite).origin);
  });

  test("the suite's certificate names its host, and nginx of the Compose file has it with its key", () => {
    const file = (name: string) => readFileSync(join(directory, ".op", name), "utf8");
    const certificate = new X509Certificate(file("suite.crt"));
    expect(certificate.subjectAltName).toBe("DNS:localhost");
    expect(certificate.checkPrivateKey(createPrivateKey(file("suite.key")))).toBe(true);
    const compose = file("suite-compose.yml");
    expect(compose.match(/network_mode: host/g)).toHaveLength(3);
    expect(compose).toContain(
      `"${join(realpathSync(directory), ".op/suite.crt")}:/etc/ssl/certs/nginx-selfsigned.crt:ro"`,
    );
    expect(compose).toContain(
      `"${join(realpathSync(directory), ".op/suite.key")}:/etc/ssl/private/nginx-selfsigned.key:ro"`,
    );
    expect(compose).toContain(`--fintechlabs.base_url=${suite} `);
    expect(compose).toContain(`["\${SOURCE:?}/target:/server:ro"]`);
  });

  test("the metadata that the suite does not know are those that the configuration allows", async () => {
    const metadata = await fetch(`${provider.origin}/.well-known/openid-configuration`);
    const { allow_unexpected_metadata_fields: allowed } = configuration.server;
    expect(Object.keys((await metadata.json()) as object)).toEqual(expect.arrayContaining([...allowed]));
  });

  test("each plan of the commands has one configuration, and the script is told of each skipped and failed module", () => {
    const read = (name: string) =>
      JSON.parse(readFileSync(join(directory, ".op", name), "utf8")) as Record<string, unknown>[];
    const entries = [...read("expected-failures.json"), ...read("expected-skips.json")];
    expect(entries.map((entry) => entry["test-name"])).toEqual([
      "oidcc-server-rotate-keys",
      "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
      "oidcc-ensure-request-object-with-redirect-uri",
    ]);
    for (const { "configuration-filename": pattern, variant } of entries) {
      expect([pattern, variant]).toEqual(["*suite.json", "*"]);
    }
    for (const { "test-name": name } of entries) expect(page).toContain(`\`${name as string}\``);
    const plans = [...page.matchAll(/^ {2,}"(oidcc|fapi2)\S*-test-plan\S*" "?\$\w+\S*"?/gm)];
    expect(plans).toHaveLength(7 + 7 + 2);
    expect(page).not.toMatch(/oidcc-test-plan(\[|\$)\S*(STATIC|server_metadata)/);
  });

  test("the browser commands sign in, consent and reach the error page", async () => {
    const viaProxy = proxiedFetch(provider.issuer, provider.origin);
    const person = new Person(provider.issuer, { username: "alice", password: "" }, viaProxy);
    const start = authorizationUrl();
    const signIn = await person.openPage(start);
    const interaction = (page: Page) => `${provider.issuer}/flow/${page.name}?f=sealed`;
    const typing = commandsFor(start.href, interaction(signIn), signIn);
    expect(namesOf(typing)).toEqual([
      "wait sign-in",
      "text #username:not([readonly])",
      "text password",
      "click sign-in",
    ]);
    expect(screenshots(typing)).toEqual([]);
    const consent = await person.submit(signIn, { "sign-in": typedIn(typing) });
    if (consent.kind !== "page") throw new Error("no consent was asked for");
    expect(namesOf(commandsFor(start.href, interaction(consent), consent))).toEqual(["click allow"]);
    const arrival = await person.submit(consent);
    expect(arrival.kind === "arrival" && arrival.url.searchParams.has("code")).toBe(true);

    // The second sign-in of prompt=login: the username is shown and cannot be typed.
    const again = await person.openPage(authorizationUrl({ prompt: "login" }));
    expect(namesOf(commandsFor(start.href, interaction(again), again))).toEqual([
      "wait sign-in",
      "text password",
      "click sign-in",
    ]);
    const wrong = authorizationUrl({ redirect_uri: `${callback}/other` });
    const refused = await person.openPage(wrong);
    expect(refused.status).toBe(400);
    expect(screenshots(commandsFor(wrong.href, wrong.href, refused))).toHaveLength(1);
  });

  test.each([
    ["oidcc-prompt-login", ["text #username:not([readonly])", "text password", "click sign-in"]],
    ["oidcc-max-age-1", ["text #username:not([readonly])", "text password", "click sign-in"]],
    ["oidcc-registration-logo-uri", []],
    ["oidcc-registration-policy-uri", []],
    ["oidcc-registration-tos-uri", []],
  ])("%s has a screenshot of the sign-in page, and the person does what it needs", async (name, then) => {
    const person = new Person(provider.issuer, demoUsers.alice, proxiedFetch(provider.issuer, provider.origin));
    const start = authorizationUrl();
    const signIn = await person.openPage(start);
    const url = `${provider.issuer}/flow/${signIn.name}?f=sealed`;
    for (const file of [".op/suite.json", ".op/suite-dynamic.json"]) {
      const { override } = JSON.parse(readFileSync(join(directory, file), "utf8")) as Configuration;
      const commands = commandsFor(start.href, url, signIn, override[name]!.browser!);
      expect([namesOf(commands), screenshots(commands)]).toEqual([["wait sign-in", ...then], [commands[0]]]);
    }
  });

  test("a logout is confirmed before its screenshot, and so is one with an error", async () => {
    const person = new Person(
      provider.issuer,
      { username: "alice", password: "" },
      proxiedFetch(provider.issuer, provider.origin),
    );
    const signIn = await person.openPage(authorizationUrl());
    const typing = commandsFor(`${provider.issuer}/authorize?`, `${provider.issuer}/flow/sign-in?f=sealed`, signIn);
    await person.submit(signIn, { "sign-in": typedIn(typing) });
    const start = `${provider.issuer}/logout`;
    const confirm = await person.openPage(start);
    const [first, ...others] = namesOf(commandsFor(start, start, confirm));
    expect([first, others]).toEqual(["click sign-out", ["wait //body"]]);
    const end = await person.submit(confirm, { logout: { decision: "leave" } });
    if (end.kind !== "page") throw new Error("no page says that the person is signed out");
    expect(end.html).not.toContain('id="sign-out"');
    const seen = commandsFor(start, `${provider.issuer}/logout/confirm`, end);
    expect([namesOf(seen), screenshots(seen)]).toEqual([["wait //body"], seen]);
    const bad = new URL(`${start}?post_logout_redirect_uri=${encodeURIComponent(`${suite}/other`)}`);
    const refused = await person.openPage(bad);
    expect([refused.status, namesOf(commandsFor(bad.href, bad.href, refused))]).toEqual([200, ["wait //body"]]);
  });

  test("dynamic registration: the configuration names no client, and a client like the suite's registers and signs in", async () => {
    const dynamic = JSON.parse(readFileSync(join(directory, ".op/suite-dynamic.json"), "utf8")) as Configuration;
    expect(dynamic.browser).toEqual(configuration.browser);
    expect(Object.values(dynamic.override).filter(({ client }) => client !== undefined)).toEqual([]);
    expect(dynamic.client).toEqual({ client_name: "Conformance suite" });
    const viaProxy = proxiedFetch(provider.issuer, provider.origin);
    const register = async (members: object) => {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(members) };
      const response = await viaProxy(`${provider.issuer}/register`, init);
      return { status: response.status, body: (await response.json()) as Record<string, string> };
    };
    const start = `${suite}/test/a/edge-op/initiate_login`;
    const metadata = { ...dynamic.client, redirect_uris: [callback], initiate_login_uri: start };
    const { status, body } = await register(metadata);
    expect([status, body["initiate_login_uri"]]).toEqual([201, start]);
    const read = await viaProxy(body["registration_client_uri"]!, {
      headers: { authorization: `Bearer ${body["registration_access_token"]}` },
    });
    expect(await read.json()).toMatchObject({ initiate_login_uri: start });
    const insecure = await register({ ...metadata, initiate_login_uri: start.replace("https:", "http:") });
    expect([insecure.status, insecure.body["error"]]).toEqual([400, "invalid_client_metadata"]);
    const person = new Person(provider.issuer, demoUsers.alice, viaProxy);
    const { url } = await person.visit(authorizationUrl({ client_id: body["client_id"]!, nonce: "n" }));
    expect(url.searchParams.has("code")).toBe(true);
  });

  const pairs = [
    ["security-profile", "fapi2"],
    ["message-signing", "fapi2_message_signing"],
  ].flatMap(([title, profile]) =>
    ["private_key_jwt", "mtls"].flatMap((auth) =>
      ["dpop", "mtls"].flatMap((sender) =>
        ["ES256", "PS256"].map((alg) => [title!, auth, sender, profile!, alg] as const),
      ),
    ),
  );
  test.each(pairs)(
    "FAPI 2.0 %s: the configuration for %s and %s (%s, %s) has two clients with their keys and certificates",
    async (title, auth, sender, profile, alg) => {
      const name = `.op/fapi2-${title}-${auth}-${sender}${alg === "ES256" ? "" : `-${alg}`}.json`;
      const file = readFileSync(join(directory, name), "utf8");
      const fapi = JSON.parse(file) as FapiConfiguration;
      expect(fapi.server.discoveryUrl).toBe(`${provider.issuer}/.well-known/openid-configuration`);
      expect(fapi.resource.resourceUrl).toBe(`${provider.issuer}/userinfo`);
      expect(fapi.browser).toEqual(configuration.browser);
      for (const [name, tls] of [
        ["client", "mtls"],
        ["client2", "mtls2"],
      ] as const) {
        const shown = await registered(fapi[name]);
        expect(shown).toMatchObject({
          security_profile: profile,
          scope: "openid profile email address phone offline_access",
          [sender === "dpop" ? "dpop_bound_access_tokens" : "tls_client_certificate_bound_access_tokens"]: true,
          redirect_uris: [callback, `${callback}?dummy1=lorem&dummy2=ipsum`],
        });
        expect(fapi[name].jwks.keys[0]).toMatchObject({ kid: "suite", alg, d: expect.any(String) as string });
        expect(fapi[name].dpop_signing_alg).toBe(alg);
        expect(shown["id_token_signed_response_alg"]).toBe(alg);
        const { subject, issuer: authority } = new X509Certificate(fapi[tls].cert);
        expect([subject, authority]).toEqual([`O=Suite\nCN=${name}`, "CN=Suite CA"]);
        const method = auth === "mtls" ? "tls_client_auth" : "private_key_jwt";
        expect(shown["token_endpoint_auth_method"]).toBe(method);
      }
    },
  );

  test.each(pairs.filter(([, , , , alg]) => alg === "ES256"))(
    "plain OAuth, FAPI 2.0 %s: the clients for %s and %s have tokens for the API, and no openid",
    async (title, auth, sender, profile) => {
      const file = readFileSync(join(directory, `.op/fapi2-plain-oauth-${title}-${auth}-${sender}.json`), "utf8");
      const fapi = JSON.parse(file) as FapiConfiguration;
      const resource = "https://localhost:9444/";
      expect([fapi.resource.resourceUrl, fapi.client.scope]).toEqual([resource, "api:read"]);
      const expected = { security_profile: profile, scope: "api:read", audiences: [resource] };
      for (const client of [fapi.client, fapi.client2]) expect(await registered(client)).toMatchObject(expected);
    },
  );

  test("plain OAuth: the API challenges a request without a token, by the credentials of its client", async () => {
    const api = JSON.parse(readFileSync(join(directory, ".op/api.json"), "utf8")) as Credentials;
    expect(await registered(api)).toMatchObject({ introspection: { audiences: ["https://localhost:9444/"] } });
    const port = await findFreePort("127.0.0.1");
    const env = { ...process.env, ISSUER: provider.origin, RESOURCE: "https://localhost:9444/" };
    const args = [join(repositoryRoot, "scripts/demo/fapi-api.ts"), String(port)];
    const server = spawn(process.execPath, args, { cwd: directory, env, stdio: "inherit" });
    try {
      const call = (headers = {}) =>
        fetch(`http://127.0.0.1:${port}/`, { headers }).then(({ status }) => status, String);
      await expect.poll(() => call(), { timeout: 20_000 }).toBe(401);
      // Refused by the response of the introspection: a failure of it would be 503.
      expect(await call({ authorization: "Bearer unknown" })).toBe(401);
    } finally {
      server.kill();
    }
  });

  test("FAPI 2.0: a person cancels at sign-in, and leaves a first page, whose screenshot is the only one", async () => {
    const file = readFileSync(join(directory, ".op/fapi2-security-profile-mtls-dpop.json"), "utf8");
    const { override } = JSON.parse(file) as FapiConfiguration;
    const module = (name: string) => override[`fapi2-security-profile-final-${name}`]!.browser;
    const person = new Person(provider.issuer, demoUsers.alice, proxiedFetch(provider.issuer, provider.origin));
    const start = authorizationUrl();
    const signIn = await person.openPage(start);
    const url = `${provider.issuer}/flow/${signIn.name}?f=sealed`;
    const commands = (browser: Browser) => commandsFor(start.href, url, signIn, browser);
    expect(namesOf(commands(module("user-rejects-authentication")))).toEqual(["click cancel"]);
    const rejected = await person.submit(signIn, { "sign-in": { cancel: "1" } });
    expect(rejected.kind === "arrival" && rejected.url.searchParams.get("error")).toBe("access_denied");

    const [first, ...later] = module("par-ensure-reused-request-uri-prior-to-auth-completion-succeeds");
    expect(first!["match-limit"]).toBe(1);
    expect([namesOf(commands([first!])), screenshots(commands([first!]))]).toEqual([
      ["wait sign-in"],
      commands([first!]),
    ]);
    expect(screenshots(commands(later))).toEqual([]);
    expect(namesOf(commands(later)).at(-1)).toBe("click sign-in");
  });

  test("the proxy offers only TLS 1.3 and the ciphers of BCP 195, and listens only on 127.0.0.1", async () => {
    const port = await findFreePort("127.0.0.1");
    const args = [
      "scripts/demo/tls-proxy.mjs",
      ".op/tls.crt",
      ".op/tls.key",
      String(port),
      new URL(provider.origin).port,
    ];
    const proxy = spawn(process.execPath, args, { cwd: directory, stdio: "inherit" });
    const connect = (options: ConnectionOptions) =>
      new Promise<string>((resolve) => {
        const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
        socket.once("secureConnect", () => {
          resolve(`${socket.getProtocol()} ${socket.getCipher().standardName}`);
          socket.destroy();
        });
        socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      });
    try {
      await expect.poll(() => connect({}), { timeout: 20_000 }).toBe("TLSv1.3 TLS_AES_128_GCM_SHA256");
      const tls12 = { maxVersion: "TLSv1.2" } as const;
      expect(await connect({ ...tls12, ciphers: "ECDHE-RSA-AES256-GCM-SHA384" })).toBe(
        "TLSv1.2 TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
      );
      for (const ciphers of [
        "AES128-GCM-SHA256",
        "AES256-SHA",
        "ECDHE-RSA-AES128-SHA256",
        "ECDHE-RSA-CHACHA20-POLY1305",
      ]) {
        expect(await connect({ ...tls12, ciphers }), ciphers).toMatch(/HANDSHAKE_FAILURE/);
      }
      // Any address of 127.0.0.0/8 would be served by a socket on every address.
      expect(await connect({ host: "127.0.0.2" })).toBe("ECONNREFUSED");
    } finally {
      proxy.kill();
    }
  });

  test("FAPI 2.0: the proxy forwards the certificate of the suite, which authenticates and binds", async () => {
    const fapi = JSON.parse(
      readFileSync(join(directory, ".op/fapi2-security-profile-mtls-mtls.json"), "utf8"),
    ) as FapiConfiguration;
    expect(output).toContain(`authenticated as ${fapi.client.client_id}`);
  });

  test("the rotation shows a new key at /jwks next to the old ones", () => {
    const [, before = "", now = ""] = /at \/jwks before: (.*); now: (.*)/.exec(output)!;
    const added = now.split(" ").filter((kid) => !before.split(" ").includes(kid));
    expect(added.length).toBeGreaterThan(0);
    expect(before.split(" ").filter((kid) => !now.split(" ").includes(kid))).toEqual([]);
  });
});
