/**
 * **The official SDK 1.x**, which most MCP clients in use have, against the MCP server of the examples. It accepts metadata documents only over
 * https: theirs has a certificate that the provider's runtime trusts, which it reads at its start in a separate process.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { auth, type OAuthClientProvider, UnauthorizedError } from "modelcontextprotocol-sdk-1/client/auth.js";
import { Client } from "modelcontextprotocol-sdk-1/client/index.js";
import { StreamableHTTPClientTransport } from "modelcontextprotocol-sdk-1/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { demoApplications } from "../../examples/application/src/demo.ts";
import { type StartedProcess, startProcess } from "../../load-tests/lib/start-process.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { selfSigned } from "../fixtures/client-certificates.ts";
import { claimsOf, type ProviderAddress, ProviderFixtures } from "./fixtures/provider-fixtures.ts";

const redirectUrl = "http://127.0.0.1:50124/callback";
const password = "a long enough password";
const serveProvider = join(import.meta.dirname, "../../load-tests/lib/serve-provider.ts");
const directory = mkdtempSync(join(tmpdir(), "edge-op-mcp-"));
let documents: Server;
let clientMetadataUrl: string;
let provider: StartedProcess<ProviderAddress & { readonly resources: Readonly<Record<string, string>> }>;
let fixtures: ProviderFixtures;
let mcp: string;
let person: Person;
let sub: string;

const clientMetadata = {
  client_name: "A client on SDK 1.x",
  redirect_uris: [redirectUrl],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
  application_type: "native",
};

beforeAll(async () => {
  const { cert, key } = await selfSigned({ subject: "CN=localhost", names: [{ type: "dns", value: "localhost" }] });
  writeFileSync(join(directory, "ca.pem"), cert);
  documents = createServer({ cert, key }, (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ client_id: clientMetadataUrl, ...clientMetadata }));
  });
  await new Promise<void>((resolve) => documents.listen(0, "localhost", resolve));
  clientMetadataUrl = `https://localhost:${(documents.address() as AddressInfo).port}/client.json`;
  process.env["NODE_EXTRA_CA_CERTS"] = join(directory, "ca.pem");
  try {
    provider = await startProcess(serveProvider, { applications: { mcp: demoApplications.mcp } });
  } finally {
    delete process.env["NODE_EXTRA_CA_CERTS"];
  }
  mcp = provider.said.resources["mcp"]!;
  fixtures = new ProviderFixtures(provider.said);
  const scopes = [
    { value: "notes:read", description: "Read your notes" },
    { value: "notes:write", description: "Write notes" },
  ];
  await fixtures.admin.require("POST", "/resources", { identifier: mcp, name: "Notes", clients: "any", scopes });
  const username = "maria";
  sub = await fixtures.user({ username, password });
  person = new Person(provider.said.issuer, { username, password });
}, 120_000);

afterAll(async () => {
  await provider?.stop();
  documents.closeAllConnections();
  documents.close();
  rmSync(directory, { recursive: true, force: true });
});

type ClientInformation = NonNullable<Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>>;
type Tokens = NonNullable<Awaited<ReturnType<OAuthClientProvider["tokens"]>>>;

class Authorization implements OAuthClientProvider {
  readonly redirectUrl = redirectUrl;
  readonly clientMetadata = clientMetadata;
  readonly clientMetadataUrl?: string;
  client: ClientInformation | undefined;
  saved: Tokens | undefined;
  verifier = "";
  url: URL | undefined;

  constructor(given: { readonly client?: ClientInformation; readonly documentUrl?: string } = {}) {
    this.client = given.client;
    if (given.documentUrl !== undefined) this.clientMetadataUrl = given.documentUrl;
  }
  clientInformation = () => this.client;
  saveClientInformation = (client: ClientInformation) => {
    this.client = client;
  };
  tokens = () => this.saved;
  saveTokens = (tokens: Tokens) => {
    this.saved = tokens;
  };
  redirectToAuthorization = (url: URL) => {
    this.url = url;
  };
  saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier;
  };
  codeVerifier = () => this.verifier;
  invalidateCredentials = (scope: "all" | "client" | "tokens" | "verifier" | "discovery") => {
    if (scope === "all" || scope === "client") this.client = undefined;
    if (scope === "all" || scope === "tokens") this.saved = undefined;
  };
}

/** Calls a tool; the person signs in as often as required. */
async function callTool(
  authorization: Authorization,
  name: string,
  given: Record<string, unknown> = {},
): Promise<string> {
  for (let attempt = 0; ; attempt += 1) {
    const transport = new StreamableHTTPClientTransport(new URL(mcp), { authProvider: authorization });
    const client = new Client({ name: "sdk-1", version: "1.0.0" });
    try {
      // The transport's optional members are declared without `undefined`.
      await client.connect(transport as Parameters<Client["connect"]>[0]);
      const result = await client.callTool({ name, arguments: given });
      return (result.content as { readonly text?: string }[]).map(({ text }) => text ?? "").join("\n");
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || attempt >= 2) throw error;
      const { url } = await person.visit(authorization.url!);
      await transport.finishAuth(url.searchParams.get("code") ?? "");
    } finally {
      await client.close();
    }
  }
}

async function refresh(authorization: Authorization): Promise<void> {
  expect(await auth(authorization, { serverUrl: mcp })).toBe("AUTHORIZED");
}

describe("MCP 2025-11-25: the official SDK 1.x", () => {
  test("draft-ietf-oauth-client-id-metadata-document-02 §3: connects by its https document, steps up, refreshes, and is cut off", async () => {
    const authorization = new Authorization({ documentUrl: clientMetadataUrl });
    expect(await callTool(authorization, "whoami")).toContain(`${sub}, by ${clientMetadataUrl}, with notes:read`);
    const { saved } = authorization;
    expect(claimsOf(saved!.access_token)).toMatchObject({ aud: mcp, client_id: clientMetadataUrl });
    // SDK 1.x answers a challenge for more scopes with a refresh if it has a refresh token, which cannot add scopes (RFC 6749 §6).
    const { refresh_token: _, ...withoutRefresh } = authorization.saved!;
    authorization.saved = withoutRefresh;
    expect(await callTool(authorization, "add_note", { text: "Buy milk" })).toMatch(/notes$/);
    const before = authorization.saved!.refresh_token;
    await refresh(authorization);
    expect(authorization.saved!.refresh_token).not.toBe(before);
    expect(await callTool(authorization, "list_notes")).toContain("Buy milk");
    await fixtures.admin.require("PATCH", `/clients/${encodeURIComponent(clientMetadataUrl)}`, { status: "disabled" });
    await expect(callTool(authorization, "whoami")).rejects.toThrow();
  });

  test("RFC 7591 §3: registers itself, and again after its registration was deleted", async () => {
    const authorization = new Authorization();
    expect(await callTool(authorization, "whoami")).toContain(sub);
    const first = authorization.client!.client_id;
    expect((await fixtures.admin.call("DELETE", `/clients/${first}`)).status).toBe(204);
    expect(await callTool(authorization, "whoami")).toContain(sub);
    expect(authorization.client!.client_id).not.toBe(first);
  });

  test("a manually registered client; RFC 7009 §2: after a revocation it signs in again", async () => {
    const created = await fixtures.admin.require("POST", "/clients", { ...clientMetadata, scope: "offline_access" });
    const authorization = new Authorization({ client: { client_id: String(created["client_id"]) } });
    expect(await callTool(authorization, "whoami")).toContain(sub);
    const { access_token: token } = authorization.saved!;
    await fixtures.admin.require("POST", "/revocations", { sub });
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(mcp, { method: "POST", headers })).status).toBe(401);
    expect(await callTool(authorization, "whoami")).toContain(sub);
    expect(authorization.saved!.access_token).not.toBe(token);
  });
});
