/** **An API on Hono that the provider protects.** Tokens are validated over a Service Binding; DPoP proofs are verified here. */

import { env } from "cloudflare:workers";
import { ProtectedResource, type ResourceAuth } from "@edge-op/resource-server/protected-resource";
import {
  insufficientScope,
  insufficientUserAuthentication,
  meetsAuthentication,
} from "@edge-op/resource-server/step-up";
import type { TokenClaims } from "@edge-op/resource-server/token-validation";
import { Hono } from "hono";

const { RESOURCE, ISSUER } = env;
const api = new ProtectedResource<Cloudflare.Env, TokenClaims>({
  resourceMetadata: {
    resource: RESOURCE,
    authorization_servers: [ISSUER],
    resource_name: "Notes (API)",
    scopes_supported: ["notes:read", "notes:write"],
  },
  requiredScopes: ["notes:read"],
  validateToken: ({ PROVIDER }) => PROVIDER.validateToken,
});

const app = new Hono<{ Bindings: Cloudflare.Env; Variables: { auth: ResourceAuth; claims: TokenClaims } }>();

app.get(new URL(api.metadataUrl).pathname, (c) => c.json(api.metadata));

app.use("/notes/*", async (c, next) => {
  const authentication = await api.authenticate(c.req.raw, c.env);
  if (!authentication.ok) return authentication.response;
  c.set("auth", authentication.auth);
  c.set("claims", authentication.props);
  return next();
});

app.get("/notes", (c) => c.json({ notes: [], user: c.var.auth.userId }));

app.post("/notes", (c) => {
  if (!c.var.auth.scope.includes("notes:write")) return insufficientScope(c.var.auth, ["notes:read", "notes:write"]);
  return c.json({ created: true }, 201);
});

/** Only for a user who has signed in within the last five minutes (RFC 9470). */
app.delete("/notes", (c) => {
  const requirement = { maxAgeSeconds: 300 };
  if (!meetsAuthentication(c.var.claims, requirement)) return insufficientUserAuthentication(c.var.auth, requirement);
  return c.body(null, 204);
});

export default app;
