import { pathToFileURL } from "node:url";
import { ProtectedResource } from "@edge-op/resource-server/protected-resource";
import { introspectionValidator } from "@edge-op/resource-server/validate-by-introspection";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import * as config from "../config.js";

/** Checks the access token of each request at the provider. */
export function createApi({ issuer, api: { url, clientId, clientSecret } }) {
  const validate = introspectionValidator({ endpoint: `${issuer}/introspect`, issuer, clientId, clientSecret });
  const resource = new ProtectedResource({
    resourceMetadata: { resource: url, authorization_servers: [issuer] },
    requiredScopes: ["notes:read"],
    validateToken: () => validate,
  });
  const api = new Hono();
  api.get(new URL(resource.metadataUrl).pathname, (c) => c.json(resource.metadata));
  api.get("/notes", async (c) => {
    const authentication = await resource.authenticate(c.req.raw, {});
    if (!authentication.ok) return authentication.response;
    return c.json({ notes: [`The first note of ${authentication.auth.userId}`] });
  });
  return api;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { port } = new URL(config.api.url);
  serve({ fetch: createApi(config).fetch, port: Number(port || 80) });
  console.log(`The API listens at ${config.api.url}`);
}
