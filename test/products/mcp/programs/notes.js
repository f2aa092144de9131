import { OAuthResourceServer } from "@edge-op/resource-server";
import { toMcpAuthInfo } from "@edge-op/resource-server/mcp-auth-info";
import { introspectionValidator } from "@edge-op/resource-server/validate-by-introspection";
import { createMcpHandler, McpServer, requireScopes } from "@modelcontextprotocol/server";

const { ISSUER, RESOURCE, CLIENT_SECRET } = process.env;

const validate = introspectionValidator({
  endpoint: `${ISSUER}/introspect`,
  clientId: "notes-server",
  clientSecret: CLIENT_SECRET,
  issuer: ISSUER,
});

const mcp = createMcpHandler(({ authInfo }) => {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  const text = (value) => ({ content: [{ type: "text", text: value }] });
  server.registerTool("whoami", { description: "You." }, () =>
    text(`${authInfo.extra.userId}, by ${authInfo.clientId}, with ${authInfo.scopes.join(" ")}`),
  );
  server.registerTool(
    "delete_notes",
    { description: "Deletes your notes.", scopeChallenge: requireScopes("notes:read", "notes:write") },
    () => text("deleted"),
  );
  return server;
});

export default new OAuthResourceServer({
  resourceMetadata: {
    resource: RESOURCE,
    authorization_servers: [ISSUER],
    scopes_supported: ["notes:read", "notes:write"],
  },
  requiredScopes: ["notes:read"],
  validateToken: () => validate,
  handler: { fetch: (request, _env, { auth }) => mcp.fetch(request, { authInfo: toMcpAuthInfo(auth) }) },
  onRefused: ({ reason, detail }) => console.error(reason, detail),
});
