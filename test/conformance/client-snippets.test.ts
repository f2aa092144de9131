import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exportJWK, generateKeyPair } from "jose";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { type LocalProvider, startLocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { TestAuthority } from "../fixtures/client-certificates.ts";
import { claimsOf, ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fetchWithCertificate, startTlsProxy, type TlsProxy } from "./fixtures/tls-proxy.ts";

/** docs/clients.md: each registration and each snippet as written, against a provider with https. */
const page = readFileSync(join(repositoryRoot, "docs/clients.md"), "utf8");

interface Outcome {
  readonly tokens: { readonly access_token: string; readonly refresh_token?: string };
  readonly person: { readonly name?: unknown };
  readonly refreshed?: { readonly access_token: string; readonly refresh_token?: string };
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

function block(kind: "registration" | "snippet", name: string): string {
  const found = new RegExp(`<!-- ${kind} ${name} -->\\n\`\`\`\\w+\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1];
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
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
];

async function run(name: string, values: Readonly<Record<string, unknown>>): Promise<Outcome> {
  const lines = block("snippet", name).split("\n");
  const imports = lines.filter((line) => line.startsWith("import "));
  const body = lines.filter((line) => !line.startsWith("import "));
  const end = `return { tokens, person, refreshed: typeof refreshed === "undefined" ? undefined : refreshed };`;
  const source = [...imports, `export default async ({ ${given.join(", ")} }) => {`, ...body, end, "};"].join("\n");
  const file = join(directory, `${name}.mjs`);
  writeFileSync(file, source);
  const snippet = (await import(pathToFileURL(file).href)) as { default: (given: object) => Promise<Outcome> };
  return snippet.default(values);
}

test.each([
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
  const registration = block("registration", name)
    .replace('"PUBLIC_KEY"', JSON.stringify({ ...(await exportJWK(signing.publicKey)), kid: "k1" }))
    .replace('"PUBLIC_ENCRYPTION_KEY"', JSON.stringify({ ...(await exportJWK(encryption.publicKey)), kid: "enc" }));
  const created = await fixtures.admin.require("POST", "/clients", JSON.parse(registration));
  const certificate = await authority.issue({ subject: "O=Example,CN=payments" });
  const {
    tokens,
    person: shown,
    refreshed,
  } = await run(name, {
    issuer,
    clientId: created["client_id"],
    clientSecret: created["client_secret"],
    privateKey: signing.privateKey,
    decryptionKey: encryption.privateKey,
    fetchWithCertificate: fetchWithCertificate(proxy, certificate),
    sendBrowser: async (url: URL) => (await person.browser(viaTls).visit(url)).url,
  });
  expect(shown.name).toBe("Pat Person");
  const cnf = claimsOf(tokens.access_token)["cnf"] as object | undefined;
  expect(Object.keys(cnf ?? {})).toEqual(confirmation === undefined ? [] : [confirmation]);
  if (refreshed !== undefined) {
    expect(claimsOf(refreshed.access_token)["cnf"]).toEqual(cnf);
    expect(refreshed.refresh_token === tokens.refresh_token).toBe(name !== "dpop");
  }
});
