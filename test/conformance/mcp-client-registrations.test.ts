import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { type DocumentServer, startDocumentServer } from "./fixtures/document-server.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

/** The registration requests of MCP clients, as published, and the registered metadata. */
interface Published {
  readonly body: Readonly<Record<string, unknown>>;
  /** The members of the response that differ from the body; `undefined` for one that is left out. */
  readonly registered: Readonly<Record<string, unknown>>;
  /** The redirect URI that the client uses. */
  readonly uses: string;
}

const own = "openid profile email address phone offline_access";
const codeAndRefresh = ["authorization_code", "refresh_token"];
const deviceCode = "urn:ietf:params:oauth:grant-type:device_code";

const registrations: Readonly<Record<string, Published>> = {
  // https://github.com/anthropics/claude-ai-mcp/issues/1043 (claude.ai and Claude Desktop, without scope: issues/500)
  Claude: {
    body: {
      client_name: "Claude",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
      grant_types: codeAndRefresh,
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_post",
    },
    registered: { scope: own, application_type: "web" },
    uses: "https://claude.ai/api/mcp/auth_callback",
  },
  // https://github.com/elmohq/elmo/pull/684 (a captured registration), with the scopes of the protected resource
  "Claude Code": {
    body: {
      client_name: "Claude Code (files)",
      redirect_uris: ["http://localhost:3118/callback"],
      grant_types: codeAndRefresh,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
      scope: "files:read offline_access",
    },
    registered: { scope: "offline_access" },
    uses: "http://localhost:52118/callback",
  },
  // https://github.com/microsoft/vscode/blob/main/src/vs/base/common/oauth.ts (fetchDynamicRegistration)
  "Visual Studio Code": {
    body: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      grant_types: [...codeAndRefresh, deviceCode],
      response_types: ["code"],
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
      scope: "files:read",
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
    registered: { grant_types: codeAndRefresh, scope: undefined },
    uses: "http://127.0.0.1:59656/",
  },
  // https://forum.cursor.com/t/oauth-redirect-uri-changed-from-cursor-to-http-localhost-for-streamable-http-mcp/165019,
  // https://github.com/erp-mafia/accounted/pull/2225
  Cursor: {
    body: {
      client_name: "Cursor",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
      grant_types: codeAndRefresh,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    registered: {
      redirect_uris: ["https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"],
      scope: own,
      application_type: "web",
    },
    uses: "http://localhost:8787/callback",
  },
  // https://forum.cursor.com/t/cursor-does-not-send-application-type-native-when-registering-mcp-oauth-clients/136907
  "Cursor, as a web application": {
    body: {
      client_name: "Cursor",
      application_type: "web",
      redirect_uris: ["cursor://anysphere.cursor-mcp/oauth/callback", "http://localhost:8787/callback"],
      token_endpoint_auth_method: "none",
    },
    registered: {
      redirect_uris: ["http://localhost:8787/callback"],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      scope: own,
    },
    uses: "http://localhost:8787/callback",
  },
  // https://developers.openai.com/plugins/build/auth#client-registration
  ChatGPT: {
    body: {
      client_name: "ChatGPT",
      redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
      grant_types: codeAndRefresh,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    registered: { scope: own, application_type: "web" },
    uses: "https://chatgpt.com/connector_platform_oauth_redirect",
  },
};

const documents: Readonly<Record<string, Omit<Published, "registered"> & { readonly method: string }>> = {
  // https://claude.ai/oauth/mcp-oauth-client-metadata
  Claude: {
    body: {
      client_name: "Claude",
      client_uri: "https://claude.ai",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
      grant_types: [...codeAndRefresh, "urn:ietf:params:oauth:grant-type:jwt-bearer"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    uses: "https://claude.ai/api/mcp/auth_callback",
    method: "none",
  },
  // https://claude.ai/oauth/claude-code-client-metadata
  "Claude Code": {
    body: {
      client_name: "Claude Code",
      client_uri: "https://claude.ai",
      redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
      grant_types: codeAndRefresh,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    uses: "http://localhost:43661/callback",
    method: "none",
  },
  // https://vscode.dev/oauth/client-metadata.json
  "Visual Studio Code": {
    body: {
      client_name: "Visual Studio Code",
      logo_uri: "https://code.visualstudio.com/assets/branding/code-stable.png",
      grant_types: [...codeAndRefresh, deviceCode],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
      client_uri: "https://vscode.dev/product",
      redirect_uris: ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
    },
    uses: "http://127.0.0.1:33418/",
    method: "none",
  },
  // https://chatgpt.com/oauth/client.json
  ChatGPT: {
    body: {
      client_uri: "https://chatgpt.com/",
      redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
      grant_types: codeAndRefresh,
      response_types: ["code"],
      client_name: "ChatGPT",
      logo_uri: "https://persistent.oaistatic.com/sonic/misc/openai-logo.png",
      token_endpoint_auth_signing_alg: "RS256",
      jwks_uri: "https://chatgpt.com/oauth/jwks.json",
    },
    uses: "https://chatgpt.com/connector_platform_oauth_redirect",
    method: "private_key_jwt",
  },
  // RP Metadata Choices 1.0 §4: an unsupported preferred value, and a redirect URI that cannot be used
  "a document with choices": {
    body: {
      redirect_uris: ["javascript:alert(1)", "https://agent.example.com/callback"],
      token_endpoint_auth_method: "tls_client_auth",
      token_endpoint_auth_methods_supported: ["tls_client_auth", "none"],
      id_token_signing_alg_values_supported: ["PS512", "EdDSA"],
    },
    uses: "https://agent.example.com/callback",
    method: "none",
  },
};

let server: DocumentServer;
let person: Person;
const resource = `https://mcp.example.com/${crypto.randomUUID()}/mcp`;
beforeAll(async () => {
  server = await startDocumentServer();
  const scopes = [{ value: "files:read", description: "Read your files" }];
  await fixtures.admin.require("POST", "/resources", { identifier: resource, name: "Files", clients: "any", scopes });
  person = (await registerPerson(fixtures)).browser();
});
afterAll(() => server.stop());

const code_verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

async function register(body: unknown) {
  const headers = { "content-type": "application/json" };
  return readResponse(
    await fetch(`${fixtures.origin}/register`, { method: "POST", headers, body: JSON.stringify(body) }),
  );
}

/** Signs in at the client's redirect URI, and returns the code. */
async function authorize(client_id: string, redirect_uri: string): Promise<string> {
  const url = new URL(`${fixtures.issuer}/authorize`);
  url.search = new URLSearchParams({
    ...{ response_type: "code", client_id, redirect_uri, scope: "openid offline_access files:read unknown", resource },
    ...{ code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" },
  }).toString();
  const arrived = await person.visit(url);
  const code = arrived.url.searchParams.get("code");
  expect(code, arrived.url.href).toBeTruthy();
  return code ?? "";
}

describe("RFC 7591 §3.2.1: published registrations", () => {
  test.each(Object.entries(registrations))("%s registers", async (_, { body, registered }) => {
    const response = await register(body);
    expect(response.status, response.text).toBe(201);
    for (const [name, value] of Object.entries({ ...body, ...registered })) {
      if (value === undefined) expect(response.body).not.toHaveProperty(name);
      else expect(response.body, name).toMatchObject({ [name]: value });
    }
    const differs = Object.keys(body).filter((name) => name in registered);
    expect(response.body["ignored_members"] ?? []).toEqual(differs);
  });

  test.each(Object.entries(registrations))("%s signs somebody in, and redeems the code", async (_, { body, uses }) => {
    const { client_id, client_secret } = (await register(body)).body;
    const code = await authorize(String(client_id), uses);
    const secret = client_secret === undefined ? {} : { client_secret: String(client_secret) };
    const form = { grant_type: "authorization_code", code, redirect_uri: uses, code_verifier };
    const tokens = await postForm(`${fixtures.origin}/token`, { ...form, client_id: String(client_id), ...secret });
    expect(tokens.body["scope"], tokens.text).toContain("files:read");
  });
});

describe("draft-ietf-oauth-client-id-metadata-document-02 §4: published documents", () => {
  test.each(Object.entries(documents))("%s signs somebody in", async (name, { body, uses, method }) => {
    const clientId = server.serve(`/${encodeURIComponent(name)}.json`, body);
    const code = await authorize(clientId, uses);
    const stored = (await fixtures.admin.call("GET", `/clients/${encodeURIComponent(clientId)}`)).body;
    expect(stored["token_endpoint_auth_method"]).toBe(method);
    expect(Object.keys(stored).filter((member) => member.endsWith("_supported"))).toEqual([]);
    const form = { grant_type: "authorization_code", code, redirect_uri: uses, code_verifier, client_id: clientId };
    const tokens = await postForm(`${fixtures.origin}/token`, form);
    expect(tokens.body["error"]).toBe(method === "none" ? undefined : "invalid_client");
  });
});
