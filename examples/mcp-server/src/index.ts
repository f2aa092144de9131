/**
 * **An MCP server that the provider protects**: the official SDK behind the library of resource servers. Tokens are validated over a Service Binding,
 * so that a revocation takes effect at the next tool call.
 */

import { env } from "cloudflare:workers";
import { OAuthResourceServer } from "@edge-op/resource-server";
import { toMcpAuthInfo } from "@edge-op/resource-server/mcp-auth-info";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { createNotesServer } from "./notes-server.ts";

const { RESOURCE, ISSUER } = env;
const mcp = createMcpHandler(createNotesServer);

export default new OAuthResourceServer<Cloudflare.Env>({
  resourceMetadata: {
    resource: RESOURCE,
    authorization_servers: [ISSUER],
    resource_name: "Notes (MCP)",
    scopes_supported: ["notes:read", "notes:write"],
  },
  requiredScopes: ["notes:read"],
  validateToken: ({ PROVIDER }) => PROVIDER.validateToken,
  handler: { fetch: (request, _env, { auth }) => mcp.fetch(request, { authInfo: toMcpAuthInfo(auth) }) },
});
