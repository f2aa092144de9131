import { gzipSync } from "node:zlib";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type Page, type Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { type DocumentServer, startDocumentServer } from "./fixtures/document-server.ts";
import { claimsOf } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

/** Unregistered clients (draft-ietf-oauth-client-id-metadata-document-02), at the running provider. */
const redirectUri = "https://agent.example.com/callback";
const code_verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const resource = `https://mcp.example.com/${crypto.randomUUID()}/mcp`;
const usual = {
  client_name: "Friendly agent",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
};

let server: DocumentServer;
let person: Person;
beforeAll(async () => {
  server = await startDocumentServer();
  person = (await registerPerson(fixtures)).browser();
  const created = await fixtures.admin.call("POST", "/resources", {
    identifier: resource,
    name: "Files",
    clients: "any",
    scopes: [{ value: "files:read", description: "Read your files" }],
  });
  expect(created.status, created.text).toBe(201);
});
afterAll(() => server.stop());

function authorizeUrl(clientId: string, more: Record<string, string> = {}): URL {
  const url = new URL(`${fixtures.issuer}/authorize`);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: "openid offline_access files:read",
    state: "s",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    resource,
    ...more,
  }).toString();
  return url;
}

async function redeem(clientId: string, url: URL, more: Record<string, string> = {}) {
  return postForm(`${fixtures.origin}/token`, {
    grant_type: "authorization_code",
    code: url.searchParams.get("code") ?? "",
    redirect_uri: redirectUri,
    client_id: clientId,
    code_verifier,
    ...more,
  });
}

function refresh(clientId: string, token: unknown) {
  const form = { grant_type: "refresh_token", refresh_token: String(token), client_id: clientId };
  return postForm(`${fixtures.origin}/token`, form);
}

async function connect(clientId: string) {
  const { url } = await person.visit(authorizeUrl(clientId));
  const response = await redeem(clientId, url);
  expect(response.status, response.text).toBe(200);
  return response.body;
}

const adminPath = (clientId: string) => `/clients/${encodeURIComponent(clientId)}`;

describe("draft-ietf-oauth-client-id-metadata-document-02 §3: a client by its URL", () => {
  test("§3, RFC 8707 §2: it connects to a resource that admits any client, refreshes, revokes, and is listed", async () => {
    const clientId = server.serve("/connects.json", usual);
    const { url, pages } = await person.visit(authorizeUrl(clientId));
    expect(pages.at(-1)).toBe("consent");
    const tokens = await redeem(clientId, url);
    expect(claimsOf(String(tokens.body["access_token"]))).toMatchObject({
      aud: resource,
      client_id: clientId,
      scope: "openid offline_access files:read",
    });
    const refreshed = await refresh(clientId, tokens.body["refresh_token"]);
    expect(refreshed.status, refreshed.text).toBe(200);
    const listed = await fixtures.admin.call("GET", adminPath(clientId));
    expect(listed.body).toMatchObject({ client_id: clientId, origin: "document", client_name: "Friendly agent" });
    const form = { token: String(refreshed.body["refresh_token"]), client_id: clientId };
    expect((await postForm(`${fixtures.origin}/revoke`, form)).status).toBe(200);
    expect((await refresh(clientId, refreshed.body["refresh_token"])).body["error"]).toBe("invalid_grant");
  });

  test("§8.5: consent names the host of the document and of the redirect, every time; the page shows no logo of another host", async () => {
    const clientId = server.serve("/consent.json", { ...usual, logo_uri: "https://agent.example.com/bank.png" });
    await connect(clientId);
    const page = await person.openPage(authorizeUrl(clientId));
    expect(page.name).toBe("consent");
    expect(textOf(page.html)).toContain("This application comes from 127.0.0.1.");
    expect(textOf(page.html)).toContain("You will then be redirected to agent.example.com.");
    expect(page.html).not.toContain("bank.png");
    expect(page.html).not.toContain('id="local-only"');
  });

  test("RFC 7591 §5: a logo beside the document is shown at sign-in and consent as a copy, which is fetched once", async () => {
    const logo = Buffer.from("R0lGODlhAQABAAAAACwAAAAAAQABAAA=", "base64");
    const logo_uri = server.answer("/logo.gif", (_, response) => response.writeHead(200).end(logo));
    const clientId = server.serve("/with-logo.json", { ...usual, logo_uri });
    const stranger = (await registerPerson(fixtures)).browser();
    const signIn = await stranger.openPage(authorizeUrl(clientId));
    const consent = await stranger.submit(signIn);
    for (const page of [signIn, consent as Page]) {
      expect(page.html).toContain(`src="data:image/gif;base64,${logo.toString("base64")}"`);
      expect(page.html).not.toContain(logo_uri);
    }
    expect(server.requests.get("/logo.gif")).toBe(1);
    // A broken logo leaves the page without one.
    const broken = server.answer("/broken", (_, response) => response.writeHead(200).end("<svg/>"));
    const other = server.serve("/broken-logo.json", { ...usual, logo_uri: broken });
    const page = await stranger.openPage(authorizeUrl(other));
    expect([page.name, page.html.includes('class="mark logo"')]).toEqual(["consent", false]);
  });

  test("MCP 2026-07-28, RFC 8252 §7.3: if only loopback is registered, people are warned; any port of it is accepted", async () => {
    const clientId = server.serve("/local.json", { ...usual, redirect_uris: ["http://localhost/callback"] });
    const page = await person.openPage(authorizeUrl(clientId, { redirect_uri: "http://localhost:51234/callback" }));
    expect(page.html).toContain('id="local-only"');
    expect(textOf(page.html)).toContain("You will then return to a program on this device.");
  });

  test("RFC 9126 §2: an unknown client starts with a pushed request: its document is fetched, nothing is stored before consent", async () => {
    const clientId = server.serve("/pushed.json", { ...usual, require_pushed_authorization_requests: true });
    const form = Object.fromEntries(authorizeUrl(clientId).searchParams);
    const pushed = await postForm(`${fixtures.origin}/par`, form);
    expect(pushed.status, pushed.text).toBe(201);
    expect(server.requests.get("/pushed.json")).toBe(1);
    expect((await fixtures.admin.call("GET", adminPath(clientId))).status).toBe(404);
    const url = new URL(`${fixtures.issuer}/authorize`);
    url.search = new URLSearchParams({
      client_id: clientId,
      request_uri: String(pushed.body["request_uri"]),
    }).toString();
    const arrived = await person.visit(url);
    expect(arrived.pages.at(-1)).toBe("consent");
    expect((await redeem(clientId, arrived.url)).status).toBe(200);
    const missing = server.answer("/pushed-missing.json", (_, response) => response.writeHead(404).end());
    for (const [unknown, redirect_uri] of [
      [missing, redirectUri],
      [clientId, "https://evil.example/callback"],
    ] as const) {
      const refused = await postForm(`${fixtures.origin}/par`, { ...form, client_id: unknown, redirect_uri });
      expect([refused.status, refused.body["error"]]).toEqual(
        unknown === missing ? [401, "invalid_client"] : [400, "invalid_request"],
      );
    }
  });

  test("ADR 47: an administrator allows its host: consent is remembered; denies it: refused at once", async () => {
    // No other file has clients of this host.
    const hostname = "localhost";
    const serve = (path: string) => {
      const url = `${server.origin.replace("127.0.0.1", hostname)}${path}`;
      server.serve(path, { ...usual, client_id: url });
      return url;
    };
    const clientId = serve("/hosted.json");
    const set = async (policy: string) => {
      const { status, text } = await fixtures.admin.call("PUT", `/client-document-hosts/${hostname}`, { policy });
      expect(status, text).toBe(200);
    };
    const tokens = await connect(clientId);
    try {
      await set("allow");
      const remembered = await person.visit(authorizeUrl(clientId));
      expect(remembered.url.searchParams.get("code")).toBeTruthy();
      expect(remembered.pages).toEqual([]);
      await set("deny");
      const refused = await refresh(clientId, tokens["refresh_token"]);
      expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_client"]);
      expect((await person.openPage(authorizeUrl(clientId))).status).toBe(400);
      const unknown = serve("/hosted-unknown.json");
      expect((await person.openPage(authorizeUrl(unknown))).status).toBe(400);
      expect(server.requests.get("/hosted-unknown.json")).toBeUndefined();
    } finally {
      await fixtures.admin.call("DELETE", `/client-document-hosts/${hostname}`);
    }
    expect((await person.openPage(authorizeUrl(clientId))).name).toBe("consent");
  });

  test("an administrator disables it: refused at once, and its tokens end", async () => {
    const clientId = server.serve("/disabled.json", usual);
    const tokens = await connect(clientId);
    const disabled = await fixtures.admin.call("PATCH", adminPath(clientId), { status: "disabled" });
    expect(disabled.status, disabled.text).toBe(200);
    const refused = await refresh(clientId, tokens["refresh_token"]);
    expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_client"]);
    const page = await person.openPage(authorizeUrl(clientId));
    expect(page.status).toBe(400);
    const foreign = await fixtures.admin.call("PATCH", adminPath(clientId), {
      redirect_uris: ["https://evil.example"],
    });
    expect([foreign.status, (foreign.body["fields"] as unknown[]).length]).toEqual([400, 1]);
    expect((await fixtures.admin.call("DELETE", adminPath(clientId))).status).toBe(204);
  });

  test("RFC 7523 §3: private_key_jwt with the keys at its jwks_uri; without an assertion it is invalid_client", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const jwksUri = server.serve("/keyed-jwks.json", { keys: [{ ...(await exportJWK(publicKey)), kid: "k" }] });
    const method = { token_endpoint_auth_method: "private_key_jwt", jwks_uri: jwksUri };
    const clientId = server.serve("/keyed.json", { ...usual, ...method });
    const { url } = await person.visit(authorizeUrl(clientId));
    const missing = await redeem(clientId, url);
    expect([missing.status, missing.body["error"]]).toEqual([401, "invalid_client"]);
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: clientId,
      sub: clientId,
      aud: fixtures.issuer,
      iat: now,
      exp: now + 60,
      jti: crypto.randomUUID(),
    };
    const assertion = await new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(privateKey);
    const proof = {
      client_assertion: assertion,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    };
    const tokens = await redeem(clientId, url, proof);
    expect(tokens.status, tokens.text).toBe(200);
  });

  test("concurrent requests cost its server one fetch, and later ones none while the document is fresh", async () => {
    const clientId = server.serve("/counted.json", usual, { "cache-control": "max-age=600" });
    await Promise.all(Array.from({ length: 10 }, () => fetch(authorizeUrl(clientId), { redirect: "manual" })));
    await connect(clientId);
    await connect(clientId);
    expect(server.requests.get("/counted.json")).toBe(1);
  });

  test("§5.2: an error response is not cached: the next request gets the document", async () => {
    for (const [path, status] of [
      ["/late-500.json", 500],
      ["/late-404.json", 404],
    ] as const) {
      const clientId = server.answer(path, (_, response) => response.writeHead(status).end());
      expect((await person.openPage(authorizeUrl(clientId))).status).toBe(400);
      server.serve(path, usual);
      expect((await person.openPage(authorizeUrl(clientId))).name).toBe("consent");
    }
  });

  test("at the token endpoint an unknown URL is invalid_client, and is not fetched", async () => {
    const clientId = server.serve("/never.json", usual);
    const response = await refresh(clientId, "rt.x");
    expect([response.status, response.body["error"]]).toEqual([401, "invalid_client"]);
    expect(server.requests.get("/never.json")).toBeUndefined();
  });
});

describe("§4, §5, §8.7: documents that are refused", () => {
  test.each<[string, Record<string, unknown>]>([
    ["client_id of another URL", { client_id: "https://agent.example.com/other.json" }],
    ["client_id in another spelling", { client_id: "HTTP://127.0.0.1/client.json" }],
    ["no client_id", { client_id: undefined }],
    ["a shared secret", { client_secret: "secret" }],
    ["client_secret_expires_at", { client_secret_expires_at: 0 }],
    ["client_secret_basic", { token_endpoint_auth_method: "client_secret_basic" }],
    ["client_secret_post", { token_endpoint_auth_method: "client_secret_post" }],
    ["private_key_jwt without keys", { token_endpoint_auth_method: "private_key_jwt" }],
    ["no redirect_uris", { redirect_uris: undefined }],
    ["redirect_uris that are no list", { redirect_uris: redirectUri }],
    ["a redirect URI with a wildcard", { redirect_uris: ["https://*.example.com/callback"] }],
    ["a script as redirect URI", { redirect_uris: ["javascript:alert(1)"] }],
    ["http on another host", { redirect_uris: ["http://agent.example.com/callback"] }],
    ["keys at a private address", { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://10.0.0.1/jwks" }],
    ["a start of logins that is not https", { initiate_login_uri: "http://localhost/start" }],
    ["another grant alone", { grant_types: ["client_credentials"] }],
    ["more than 5 KB", { client_uri: `https://agent.example.com/${"x".repeat(5_200)}` }],
  ])("%s", async (name, document) => {
    const clientId = server.serve(`/refused-${encodeURIComponent(name)}.json`, { ...usual, ...document });
    const page = await person.openPage(authorizeUrl(clientId));
    expect([page.status, page.html.includes("application is unknown")]).toEqual([400, true]);
  });

  test("members that only an administrator may set are ignored", async () => {
    const clientId = server.serve("/greedy.json", {
      ...usual,
      skip_consent: true,
      audiences: ["*"],
      scope: "openid offline_access admin:clients roles",
      token_exchange: { subject_clients: ["*"] },
      access_token_lifetime: 86_400,
    });
    const page = await person.openPage(authorizeUrl(clientId, { scope: "openid roles files:read" }));
    expect(page.name).toBe("consent");
    expect(textOf(page.html)).not.toMatch(/roles/);
    const admin = await person.visit(authorizeUrl(clientId, { scope: "openid admin:clients" }));
    expect(admin.url.searchParams.get("error")).toBe("invalid_scope");
    const other = await person.visit(authorizeUrl(clientId, { resource: "https://api.example.com" }));
    expect(other.url.searchParams.get("error")).toBe("invalid_target");
  });

  test.each<[string, Parameters<DocumentServer["answer"]>[1]]>([
    ["a redirect", (_, response) => response.writeHead(302, { location: "/connects.json" }).end()],
    ["404", (_, response) => response.writeHead(404).end()],
    ["500", (_, response) => response.writeHead(500).end()],
    ["a page", (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("{}")],
    ["no media type", (_, response) => response.writeHead(200).end("{}")],
    ["no JSON", (_, response) => response.writeHead(200, { "content-type": "application/json" }).end("<html>")],
    ["a list", (_, response) => response.writeHead(200, { "content-type": "application/json" }).end("[]")],
    [
      "a compressed bomb",
      (_, response) =>
        response
          .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
          .end(gzipSync(Buffer.alloc(2_000_000, " "))),
    ],
    [
      "an endless body",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const timer = setInterval(() => response.write(" ".repeat(4_096)), 1);
        response.on("close", () => clearInterval(timer));
      },
    ],
    ["a silent server", () => undefined],
  ])("its server responds with %s: a page that refuses, no 5xx", async (name, listener) => {
    const clientId = server.answer(`/answer-${encodeURIComponent(name)}.json`, listener);
    const page = await person.openPage(authorizeUrl(clientId));
    expect(page.status).toBe(400);
  });

  test.each([
    "https://agent.example.com/",
    "https://agent.example.com",
    "http://agent.example.com/client.json",
    "https://user@agent.example.com/client.json",
    "https://agent.example.com/client.json#x",
    "https://agent.example.com/a/../client.json",
    "https://AGENT.example.com/client.json",
    "https://agent.example.com:443/client.json",
    "https://10.0.0.1/client.json",
    "https://169.254.169.254/latest/meta-data",
    "https://2130706433/client.json",
    "https://0x7f.1/client.json",
    "https://[::ffff:10.0.0.1]/client.json",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://localhost.localdomain/client.json",
    "ftp://agent.example.com/client.json",
    `https://agent.example.com/${"x".repeat(250)}`,
  ])("§3, §6.1: %s is not a client", async (clientId) => {
    const page = await person.openPage(authorizeUrl(clientId));
    expect(page.status).toBe(400);
  });
});

test("§5: client_id_metadata_document_supported is in the metadata, under both names", async () => {
  for (const name of ["openid-configuration", "oauth-authorization-server"]) {
    const metadata = (await (await fetch(`${fixtures.origin}/.well-known/${name}`)).json()) as Record<string, unknown>;
    expect(metadata["client_id_metadata_document_supported"]).toBe(true);
  }
});
