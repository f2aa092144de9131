import { execFile } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort } from "../../packages/local-provider/src/free-port.ts";
import { type LocalProvider, startLocalProvider } from "../../packages/local-provider/src/local-provider.ts";
import { AdminApi } from "../../packages/local-provider/src/provider-api.ts";
import { repositoryRoot } from "../../packages/local-provider/src/workers.ts";
import { seedDemo } from "../../scripts/demo/seed-demo.ts";
import { type Page, Person } from "./fixtures/person.ts";
import { proxiedFetch } from "./fixtures/proxied-fetch.ts";

/** docs/operating/certify.md, pasted as it stands: each marked block, in one shell, in a directory like the repository's. */
interface Task {
  readonly match: string;
  readonly commands: readonly (readonly (string | number)[])[];
}

interface Configuration {
  readonly server: { readonly discoveryUrl: string };
  readonly client: Credentials;
  readonly client2: Credentials;
  readonly client_secret_post: Credentials;
  readonly override: Readonly<Record<string, { readonly client: Credentials }>>;
  readonly browser: readonly { readonly match: string; readonly tasks: readonly Task[] }[];
}

interface FapiClient extends Pick<Credentials, "client_id"> {
  readonly jwks: { readonly keys: readonly object[] };
  readonly dpop_signing_alg: string;
}

interface FapiConfiguration {
  readonly server: { readonly discoveryUrl: string };
  readonly resource: { readonly resourceUrl: string };
  readonly browser: unknown;
  readonly override: Readonly<Record<string, unknown>>;
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
  provider = await startLocalProvider({ vars: { ISSUER: issuer, MTLS_PROXY_KEY_SHA256: hash } });
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

/** The task that the suite runs on a page, whose commands name elements that are there. */
function taskFor(start: string, url: string, { html }: Page): Task {
  const entry = configuration.browser.find(({ match }) => toPattern(match).test(start));
  const task = entry?.tasks.find(({ match }) => toPattern(match).test(url));
  if (task === undefined) throw new Error(`no task matches ${url}`);
  for (const [command, kind, target, , option] of task.commands) {
    if (kind === "id" && option !== "optional") expect(html, `${command} ${target}`).toContain(`id="${target}"`);
  }
  return task;
}

describe("docs/operating/certify.md, followed to the letter", () => {
  test("registers each client as its modules need it", async () => {
    const { client, client2, client_secret_post, override } = configuration;
    const backchannel = override["oidcc-backchannel-rp-initiated-logout"]!.client;
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

  test("points the suite at the issuer, which is not the suite's own address", () => {
    expect(configuration.server.discoveryUrl).toBe(`${provider.issuer}/.well-known/openid-configuration`);
    const [, issuer = ""] = /ISSUER:-([^}]+)/.exec(page)!;
    expect(new URL(issuer).origin).not.toBe(new URL(suite).origin);
  });

  test("the browser commands sign in, consent and meet the error page", async () => {
    const viaProxy = proxiedFetch(provider.issuer, provider.origin);
    const person = new Person(provider.issuer, { username: "alice", password: "" }, viaProxy);
    const start = authorizationUrl();
    const signIn = await person.openPage(start);
    const { commands } = taskFor(start.href, `${provider.issuer}/interaction/i/${signIn.name}`, signIn);
    const typed = commands.filter(([command]) => command === "text").map(([, , name, value]) => [name, value]);
    const consent = await person.submit(signIn, { "sign-in": Object.fromEntries(typed) as Record<string, string> });
    if (consent.kind !== "page") throw new Error("no consent was asked for");
    taskFor(start.href, `${provider.issuer}/interaction/i/${consent.name}`, consent);
    const arrival = await person.submit(consent);
    expect(arrival.kind === "arrival" && arrival.url.searchParams.has("code")).toBe(true);
    const wrong = authorizationUrl({ redirect_uri: `${callback}/other` });
    const refused = await person.openPage(wrong);
    expect(refused.status).toBe(400);
    taskFor(wrong.href, wrong.href, refused);
    expect(refused.html).toContain("<h1");
    const logout = await person.openPage(`${provider.issuer}/logout`);
    taskFor(`${provider.issuer}/logout`, `${provider.issuer}/logout`, logout);
    expect(logout.html).toContain('id="sign-out"');
  });

  test.each([
    ["security-profile", "private_key_jwt", "fapi2", "ES256"],
    ["security-profile", "private_key_jwt", "fapi2", "PS256"],
    ["security-profile", "mtls", "fapi2", "ES256"],
    ["security-profile", "mtls", "fapi2", "PS256"],
    ["message-signing", "private_key_jwt", "fapi2_message_signing", "ES256"],
    ["message-signing", "private_key_jwt", "fapi2_message_signing", "PS256"],
    ["message-signing", "mtls", "fapi2_message_signing", "ES256"],
    ["message-signing", "mtls", "fapi2_message_signing", "PS256"],
  ])(
    "FAPI 2.0 %s: the configuration for %s (%s, %s) has two clients with their keys and certificates",
    async (title, auth, profile, alg) => {
      const name = `.op/fapi2-${title}-${auth}${alg === "ES256" ? "" : `-${alg}`}.json`;
      const file = readFileSync(join(directory, name), "utf8");
      const fapi = JSON.parse(file) as FapiConfiguration;
      expect(fapi.server.discoveryUrl).toBe(`${provider.issuer}/.well-known/openid-configuration`);
      expect(fapi.resource.resourceUrl).toBe(`${provider.issuer}/userinfo`);
      expect(fapi.browser).toEqual(configuration.browser);
      const rejection = fapi.override["fapi2-security-profile-final-user-rejects-authentication"];
      expect(JSON.stringify(rejection)).toContain('["click","id","deny"]');
      for (const [name, tls] of [
        ["client", "mtls"],
        ["client2", "mtls2"],
      ] as const) {
        const shown = await registered(fapi[name]);
        expect(shown).toMatchObject({
          security_profile: profile,
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

  test("FAPI 2.0: the proxy passes the certificate of the suite on, which authenticates and binds", async () => {
    const fapi = JSON.parse(
      readFileSync(join(directory, ".op/fapi2-security-profile-mtls.json"), "utf8"),
    ) as FapiConfiguration;
    expect(output).toContain(`authenticated as ${fapi.client.client_id}`);
  });

  test("the rotation shows a new key at /jwks beside the old ones", () => {
    const [, before = "", now = ""] = /at \/jwks before: (.*); now: (.*)/.exec(output)!;
    const added = now.split(" ").filter((kid) => !before.split(" ").includes(kid));
    expect(added.length).toBeGreaterThan(0);
    expect(before.split(" ").filter((kid) => !now.split(" ").includes(kid))).toEqual([]);
  });
});
