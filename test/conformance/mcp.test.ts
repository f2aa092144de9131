import { DpopSession } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, test } from "vitest";
import { clientDocumentPath, startDemoRp } from "../../examples/application/src/start-demo-rp.ts";
import {
  type AuthorizationStore,
  ClientAuthorization,
  type SavedAuthorization,
} from "../../examples/mcp-client/src/client-authorization.ts";
import { McpSession } from "../../examples/mcp-client/src/mcp-session.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { Person } from "../../packages/edge-op/testing/person.ts";
import { claimsOf } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** MCP authorization from the client's side: the official SDK's client, the MCP server of the examples, a person at the provider. */
const { mcp } = provider.resources as Record<"mcp", string>;
const password = "a long enough password";
let username: string;
let sub: string;

beforeAll(async () => {
  username = `person-${crypto.randomUUID()}`;
  sub = await fixtures.user({ username, password });
});

/** Stores in memory, and exposes what the SDK has stored. */
class MemoryStore implements AuthorizationStore {
  saved: SavedAuthorization = {};
  load(): SavedAuthorization {
    return this.saved;
  }
  save(saved: SavedAuthorization): void {
    this.saved = saved;
  }
}

/** Like {@link ClientAuthorization}, with a key to which its tokens are bound (RFC 9449). */
class KeyedAuthorization extends ClientAuthorization {
  readonly #session = DpopSession.create();
  dpop(): Promise<DpopSession> {
    return Promise.resolve(this.#session);
  }
}

interface Agent {
  readonly session: McpSession;
  readonly store: MemoryStore;
  /** Method, path and status of each request of the SDK. */
  readonly requests: string[];
  readonly authorizationUrls: URL[];
}

/** Without a `clientId`, the SDK registers it. */
function startAgent(clientId?: string, Authorization: typeof ClientAuthorization = ClientAuthorization): Agent {
  const store = new MemoryStore();
  const requests: string[] = [];
  const authorizationUrls: URL[] = [];
  const person = new Person(provider.issuer, { username, password });
  const session = new McpSession({
    server: mcp,
    authorization: new Authorization(store, {
      redirectUrl: "http://127.0.0.1:50123/callback",
      clientId,
      issuer: provider.issuer,
    }),
    signIn: async (url) => {
      authorizationUrls.push(url);
      return (await person.visit(url)).url.searchParams;
    },
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      const url = new URL(input instanceof Request ? input.url : input);
      requests.push(`${init?.method ?? "GET"} ${url.pathname} ${response.status}`);
      return response;
    },
  });
  return { session, store, requests, authorizationUrls };
}

async function registerByHand(): Promise<string> {
  const created = await fixtures.admin.require("POST", "/clients", {
    application_type: "native",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: ["http://127.0.0.1/callback"],
    scope: "offline_access",
  });
  return String(created["client_id"]);
}

describe("MCP authorization 2026-07-28: the official SDK's client", () => {
  test("discovers, signs in, calls a tool, steps up, refreshes, and is cut off by a revocation", async () => {
    const clientId = await registerByHand();
    const { session, store, requests, authorizationUrls } = startAgent(clientId);

    expect(await session.callTool("whoami")).toBe(`${sub}, by ${clientId}, with notes:read offline_access`);
    // From the server's 401, to its metadata, to that of the provider.
    expect(requests.slice(0, 3)).toEqual([
      "POST /mcp 401",
      "GET /.well-known/oauth-protected-resource/mcp 200",
      "GET /.well-known/oauth-authorization-server 200",
    ]);
    const [first] = authorizationUrls;
    expect(Object.fromEntries(first!.searchParams)).toMatchObject({
      resource: mcp,
      code_challenge_method: "S256",
      scope: "notes:read offline_access",
    });
    expect(claimsOf(store.saved.tokens!.access_token)).toMatchObject({ aud: mcp, client_id: clientId });

    expect(await session.callTool("add_note", { text: "Buy milk" })).toBe("1 notes");
    expect(authorizationUrls.map((url) => url.searchParams.get("scope"))).toEqual([
      "notes:read offline_access",
      expect.stringContaining("notes:write"),
    ]);
    expect(await session.callTool("list_notes")).toBe("Buy milk");
    expect(session.signIns).toBe(2);

    const before = store.saved.tokens!;
    await session.refresh();
    expect(store.saved.tokens!.refresh_token).not.toBe(before.refresh_token);
    expect(await session.callTool("whoami")).toContain("notes:write");

    await fixtures.admin.require("POST", "/revocations", { sub });
    const response = await fetch(mcp, {
      method: "POST",
      headers: { authorization: `Bearer ${store.saved.tokens!.access_token}` },
    });
    expect(response.status).toBe(401);
    // The refresh token is unusable too, so the SDK sends the user to sign in again.
    expect(await session.callTool("whoami")).toContain(sub);
    expect(session.signIns).toBe(3);
  });

  test("a disabled client is cut off at the next call, and cannot sign in again", async () => {
    const clientId = await registerByHand();
    const { session, store } = startAgent(clientId);
    await session.callTool("whoami");
    await fixtures.admin.require("PATCH", `/clients/${clientId}`, { status: "disabled" });
    const headers = { authorization: `Bearer ${store.saved.tokens!.access_token}` };
    expect((await fetch(mcp, { method: "POST", headers })).status).toBe(401);
    await expect(session.callTool("whoami")).rejects.toThrow();
  });

  test("RFC 7009 §2.1: the client itself revokes its refresh token, and its access token is refused at once", async () => {
    const clientId = await registerByHand();
    const { session, store } = startAgent(clientId);
    await session.callTool("whoami");
    const { access_token: accessToken, refresh_token: token = "" } = store.saved.tokens!;
    const { status } = await postForm(`${provider.origin}/revoke`, { token, client_id: clientId });
    expect(status).toBe(200);
    const headers = { authorization: `Bearer ${accessToken}` };
    expect((await fetch(mcp, { method: "POST", headers })).status).toBe(401);
  });

  test("RFC 9449, MCP's DPoP profile: a client with a key calls, steps up and refreshes; its token is useless without the key", async () => {
    const clientId = await registerByHand();
    const { session, store } = startAgent(clientId, KeyedAuthorization);
    expect(await session.callTool("whoami")).toContain(sub);
    expect(await session.callTool("add_note", { text: "Buy bread" })).toMatch(/notes$/);
    await session.refresh();
    expect(await session.callTool("list_notes")).toContain("Buy bread");
    const { access_token: token, token_type: type } = store.saved.tokens!;
    expect([type, claimsOf(token)]).toMatchObject(["DPoP", { cnf: { jkt: expect.any(String) } }]);
    for (const scheme of ["Bearer", "DPoP"]) {
      const response = await fetch(mcp, { method: "POST", headers: { authorization: `${scheme} ${token}` } });
      expect(response.status, scheme).toBe(401);
    }
  });

  test("draft-ietf-oauth-client-id-metadata-document-02: an unregistered client connects by its document, steps up, and is disabled", async () => {
    const port = await findFreePort("127.0.0.1");
    const application = await startDemoRp({ port, issuer: provider.issuer, client: provider.dev.clients.app });
    try {
      const clientId = application.origin + clientDocumentPath;
      const { session, store } = startAgent(clientId);
      expect(await session.callTool("whoami")).toBe(`${sub}, by ${clientId}, with notes:read offline_access`);
      expect(await session.callTool("add_note", { text: "Buy eggs" })).toMatch(/notes$/);
      await session.refresh();
      expect(claimsOf(store.saved.tokens!.access_token)).toMatchObject({ aud: mcp, client_id: clientId });
      await fixtures.admin.require("PATCH", `/clients/${encodeURIComponent(clientId)}`, { status: "disabled" });
      const headers = { authorization: `Bearer ${store.saved.tokens!.access_token}` };
      expect((await fetch(mcp, { method: "POST", headers })).status).toBe(401);
      await expect(session.callTool("whoami")).rejects.toThrow();
    } finally {
      await application.stop();
    }
  });

  test("RFC 7591: a client registers itself, and again after its registration was deleted", async () => {
    const { session, store, requests } = startAgent();
    expect(await session.callTool("whoami")).toContain(sub);
    const first = store.saved.client!.client_id;
    expect(requests).toContain("POST /register 201");
    const deleted = await fixtures.admin.call("DELETE", `/clients/${first}`);
    expect(deleted.status).toBe(204);
    expect(await session.callTool("whoami")).toContain(sub);
    expect(store.saved.client!.client_id).not.toBe(first);
  });
});
