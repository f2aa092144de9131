import { readSettings } from "@edge-op/shared/config/settings";
import { JsonAnswer } from "@edge-op/shared/http/json-answer";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import { Hono } from "hono";
import { findOwner, forward, refuseUnknownPath } from "./forwarding.ts";
import type { FrontDoorEnv } from "./front-door-env.ts";
import { createIsolate, type FrontDoorIsolate } from "./isolate.ts";
import { jwksEndpoint } from "./jwks-endpoint.ts";
import { providerMetadata } from "./provider-metadata.ts";

/**
 * **The front door**: one origin, which is the issuer, for Workers that are deployed apart. What it answers itself is
 * public and may be cached; everything else belongs to another Worker, which decides about methods, CORS and errors.
 * Cost: forwarding 1 hop and no call; discovery and health 0; keys see jwks-endpoint.ts.
 */
export function createApp(isolate: FrontDoorIsolate = createIsolate()) {
  const app = new Hono<{ Bindings: FrontDoorEnv }>();

  // OIDC Discovery §4 and RFC 8414 §3: one document, two names.
  for (const path of ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]) {
    serveEndpoint(
      app,
      path,
      {
        GET: async ({ settings }) =>
          Response.json(providerMetadata(settings), { headers: { "Cache-Control": "public, max-age=3600" } }),
      },
      { cors: "always" },
    );
  }
  serveEndpoint(app, "/jwks", { GET: (context) => jwksEndpoint(context, isolate) }, { cors: "always" });
  serveEndpoint(app, "/health", { GET: async () => new JsonAnswer({ status: "ok" }) });
  app.notFound(({ env, req }) => refuseUnknownPath(readSettings(env), req.raw));

  return {
    // Before any routing: what is forwarded is most of the traffic.
    fetch: (request: Request, env: FrontDoorEnv, execution: ExecutionContext): Response | Promise<Response> => {
      const owner = findOwner(new URL(request.url).pathname);
      return owner === undefined ? app.fetch(request, env, execution) : forward(env, owner, request);
    },
  };
}
