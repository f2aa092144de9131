import assert from "node:assert/strict";
import { clients, type McpClient } from "./clients.ts";
import type { Exchange } from "./recorder.ts";
import { type McpServer, servers } from "./servers.ts";
import { Stage } from "./stage.ts";

/** The behaviour that has been shown, by name; each is asserted. */
export type Shown = Readonly<Record<string, string>>;

/** **An MCP client and an MCP server that the provider protects.** */
export interface McpProduct {
  readonly name: string;
  show(): Promise<Shown>;
}

function product(clientName: keyof typeof clients, serverName: keyof typeof servers): McpProduct {
  const client: McpClient = clients[clientName];
  const server: McpServer = servers[serverName];
  return {
    name: `MCP: ${clientName} ${client.version} at ${serverName} ${server.version}`,
    async show() {
      const stage = await Stage.start(server);
      try {
        return { ...(await connect(stage, client, server)), ...(await connectByDocument(stage, client, server)) };
      } catch (error) {
        throw new Error(`${clientName} at ${serverName}: ${(error as Error).message}\n${describe(stage)}`, {
          cause: error,
        });
      } finally {
        await stage.stop();
      }
    },
  };
}

/** Discovery (RFC 9728, RFC 8414), registration (RFC 7591), PKCE, a tool, refresh, more scopes, revocation. */
async function connect(stage: Stage, client: McpClient, server: McpServer): Promise<Shown> {
  const session = await client.start(stage);
  try {
    assert.match(await session.call("whoami"), /^alice, by /);
    const [opened] = stage.browser.opened;
    const asked = opened?.searchParams;
    assert.ok(found(stage.server.exchanges, "GET /.well-known/oauth-protected-resource/mcp 200"));
    assert.ok(
      found(
        stage.provider.exchanges,
        server.issuesTokens ? /openid-configuration 200/ : "GET /.well-known/oauth-authorization-server 200",
      ),
    );
    const registered = found(
      server.issuesTokens ? stage.server.exchanges : stage.provider.exchanges,
      "POST /register 201",
    );
    assert.ok(registered);
    assert.deepEqual([asked?.get("code_challenge_method"), asked?.get("resource")], ["S256", stage.resource]);
    const method = (JSON.parse(registered.body) as Record<string, unknown>)["token_endpoint_auth_method"];

    await stage.expire();
    stage.clear();
    assert.match(await session.call("whoami"), /^alice, by /);
    assert.ok(found(stage.provider.exchanges, "POST /token 200", "grant_type=refresh_token"));
    assert.equal(stage.browser.opened.length, 0);

    let stepUp = "not shown: the server has no such tool";
    if (server.hasStepUp) {
      stage.clear();
      assert.equal(await session.call("delete_notes"), "deleted");
      stepUp = stage.browser.opened.length > 0 ? "signs in again for notes:write" : "asked for every scope at first";
    }

    await stage.admin.require("POST", "/revocations", { sub: "alice" });
    if (!server.seesRevocation) await stage.expire();
    stage.clear();
    assert.match(await session.call("whoami"), /^alice, by /);
    assert.ok(found(stage.provider.exchanges, /^POST \/token 400/) ?? found(stage.server.exchanges, "POST /mcp 401"));
    assert.equal(stage.browser.opened.length, 1);
    return {
      sign_in: `registered itself (${String(method)}), asked for ${asked?.get("scope")}`,
      refresh: "refreshed without the user",
      step_up: stepUp,
      revoked: `${server.seesRevocation ? "refused at once" : "refused when the access token expired"}; signs in again`,
    };
  } finally {
    await session.stop();
  }
}

/** The client has a metadata document instead of a registration (draft-ietf-oauth-client-id-metadata-document). */
async function connectByDocument(stage: Stage, client: McpClient, server: McpServer): Promise<Shown> {
  if (server.issuesTokens) return {};
  stage.clear();
  const session = await client.start(stage, stage.document);
  try {
    assert.match(await session.call("whoami"), /^alice, by https:/);
    assert.equal(stage.browser.opened[0]?.searchParams.get("client_id"), stage.document);
    assert.equal(found(stage.provider.exchanges, /\/register/), undefined);
    return { document: "connects by its metadata document" };
  } finally {
    await session.stop();
  }
}

function found(exchanges: readonly Exchange[], what: string | RegExp, form = ""): Exchange | undefined {
  return exchanges.find((exchange) => {
    const line = `${exchange.method} ${exchange.path} ${exchange.status}`;
    return (typeof what === "string" ? line === what : what.test(line)) && exchange.form.includes(form);
  });
}

/** Every request since the last step, with the contents that explain a failure. */
function describe({ provider, server, browser }: Stage): string {
  const lines = [...server.exchanges, ...provider.exchanges].map(({ method, path, status, form, challenge, body }) => {
    const parts = [`${method} ${path} ${status}`, form, challenge ?? "", body.slice(0, status < 300 ? 200 : 2_000)];
    return parts.filter((part) => part !== "").join("\n    ");
  });
  return [...lines, ...browser.opened.map(({ href }) => `opened ${href}`)].join("\n");
}

/** Each client, and each server. */
export const mcpProducts: readonly McpProduct[] = [
  product("python", "node"),
  product("python-1", "node"),
  product("fastmcp", "node"),
  product("mcp-remote", "node"),
  product("inspector", "node"),
  product("mcp-remote", "deno"),
  product("python", "bun"),
  product("fastmcp", "fastmcp-jwt"),
  product("mcp-remote", "fastmcp-introspection"),
  product("fastmcp", "fastmcp-proxy"),
];
