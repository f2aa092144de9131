import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exportJWK, generateKeyPair } from "jose";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import type { Page, Person } from "../../packages/edge-op/testing/person.ts";
import { block, page } from "../../scripts/reference/clients-page.ts";
import { TestAuthority } from "../fixtures/client-certificates.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { claimsOf, ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fetchWithCertificate, startTlsProxy, type TlsProxy } from "./fixtures/tls-proxy.ts";

/** docs/clients.md: each registration and each snippet as written, against a provider with https. test/products/ has the products. */
interface Outcome {
  readonly tokens: { readonly access_token: string; readonly refresh_token?: string };
  readonly person: { readonly name?: unknown };
  readonly refreshed?: { readonly access_token: string; readonly refresh_token?: string };
  readonly signOutUrl?: URL;
}

let directory: string;
let issuer: string;
let provider: LocalProvider;
let proxy: TlsProxy;
let fixtures: ProviderFixtures;
let authority: TestAuthority;
let person: RegisteredPerson;
let viaTls: typeof fetch;

beforeAll(async () => {
  // Inside the repository, so that the snippets find openid-client.
  mkdirSync(join(repositoryRoot, ".op"), { recursive: true });
  directory = mkdtempSync(join(repositoryRoot, ".op", "snippets-"));
  const port = await findFreePort("localhost");
  issuer = `https://localhost:${port}`;
  authority = await TestAuthority.create();
  provider = await startLocalProvider({ vars: { ISSUER: issuer } });
  proxy = await startTlsProxy({ port, origin: provider.origin, authority: authority.cert });
  viaTls = fetchWithCertificate(proxy);
  vi.stubGlobal("fetch", viaTls);
  fixtures = new ProviderFixtures(provider);
  person = await registerPerson(fixtures, { name: "Pat Person" });
});

afterAll(async () => {
  vi.unstubAllGlobals();
  rmSync(directory, { recursive: true, force: true });
  await proxy.stop();
  await provider.stop();
});

function named(kind: "registration" | "snippet", name: string): string {
  return name === "web with a key" ? keyed(block(kind, "web")) : block(kind, name);
}

/** The names that the page assumes to exist. */
const given = [
  "issuer",
  "clientId",
  "clientSecret",
  "privateKey",
  "decryptionKey",
  "fetchWithCertificate",
  "sendBrowser",
  "openBrowser",
  "showCode",
];

async function run(name: string, values: Readonly<Record<string, unknown>>): Promise<Outcome> {
  const lines = named("snippet", name).split("\n");
  const imports = lines.filter((line) => line.startsWith("import "));
  const body = lines.filter((line) => !line.startsWith("import "));
  const kept = (name: string) => `${name}: typeof ${name} === "undefined" ? undefined : ${name}`;
  const end = `return { tokens, person, ${kept("refreshed")}, ${kept("signOutUrl")} };`;
  const source = [...imports, `export default async ({ ${given.join(", ")} }) => {`, ...body, end, "};"].join("\n");
  const file = join(directory, `${name}.mjs`);
  writeFileSync(file, source);
  const snippet = (await import(pathToFileURL(file).href)) as { default: (given: object) => Promise<Outcome> };
  return snippet.default(values);
}

/** The web application with a key in place of its secret, as its section says. */
function keyed(text: string): string {
  const [, method, keys, authentication] =
    /register `([^`]+)` and `([^`]+)`, or `jwks_uri`,\s+and authenticate by `([^`]+)`/.exec(page) ?? [];
  return text
    .replace('"token_endpoint_auth_method": "client_secret_basic"', `${method}, ${keys}`)
    .replace("client.ClientSecretBasic(clientSecret)", authentication!);
}

test.each([
  ["web", undefined],
  ["web with a key", undefined],
  ["native", undefined],
  ["device", undefined],
  ["dpop", "jkt"],
  ["fapi2", "jkt"],
  ["mtls", "x5t#S256"],
  ["signing", "jkt"],
  ["jarm", undefined],
  ["encrypted-request", "jkt"],
])("docs/clients.md: %s, registered and run as written", async (name, confirmation) => {
  const [signing, encryption] = await Promise.all([
    generateKeyPair("ES256", { extractable: true }),
    generateKeyPair("RSA-OAEP-256", { extractable: true }),
  ]);
  const registration = named("registration", name)
    .replace('"PUBLIC_KEY"', JSON.stringify({ ...(await exportJWK(signing.publicKey)), kid: "k1" }))
    .replace('"PUBLIC_ENCRYPTION_KEY"', JSON.stringify({ ...(await exportJWK(encryption.publicKey)), kid: "enc" }));
  const created = await fixtures.admin.require("POST", "/clients", JSON.parse(registration));
  const certificate = await authority.issue({ subject: "O=Example,CN=payments" });
  const browser = person.browser(viaTls);
  const {
    tokens,
    person: shown,
    refreshed,
    signOutUrl,
  } = await run(name, {
    issuer,
    clientId: created["client_id"],
    clientSecret: created["client_secret"],
    privateKey: signing.privateKey,
    decryptionKey: encryption.privateKey,
    fetchWithCertificate: fetchWithCertificate(proxy, certificate),
    sendBrowser: async (url: URL) => (await browser.visit(url)).url,
    openBrowser: (url: URL) => void browser.visit(url).then((arrival) => fetch(arrival.url)),
    showCode: (uri: string, code: string) => void enterCode(browser, uri, code),
  });
  expect(shown.name).toBe("Pat Person");
  const cnf = claimsOf(tokens.access_token)["cnf"] as object | undefined;
  expect(Object.keys(cnf ?? {})).toEqual(confirmation === undefined ? [] : [confirmation]);
  if (refreshed !== undefined) {
    expect(claimsOf(refreshed.access_token)["cnf"]).toEqual(cnf);
    expect(refreshed.refresh_token === tokens.refresh_token).toBe(["fapi2", "mtls"].includes(name));
  }
  if (signOutUrl !== undefined) {
    expect((await browser.open(signOutUrl)).kind).toBe("arrival");
    expect((await browser.openPage("/account")).name).toBe("sign-in");
  }
});

/** The person types the code of a device on a phone, signs in, and allows. */
async function enterCode(phone: Person, uri: string, code: string): Promise<void> {
  let page = await phone.openPage(uri);
  while (page.name === "sign-in") page = (await phone.submit(page)) as Page;
  const shown = (await phone.submit(page, { device: { user_code: code } })) as Page;
  await phone.submit(shown, { device: { decision: "allow" } });
}
