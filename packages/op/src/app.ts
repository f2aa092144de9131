import { readSettings, type Settings } from "@edge-op/shared/config/settings";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { prefersPage } from "@edge-op/shared/http/prefers-page";
import { reportFacts } from "@edge-op/shared/http/report-facts";
import { type Execution, Router } from "@edge-op/shared/http/router";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import type { FrontDoorEnv } from "@edge-op/workers/env";
import { Discovery, jwksEndpoint } from "./discovery-endpoint.ts";
import { type CallOwner, callWorker, findOwner, forwardBy, pathOf, refuseUnknownPath } from "./forwarding.ts";
import { createIsolate, type FrontDoorIsolate, type OwnPathsEnv } from "./isolate.ts";
import { PublishedKeys } from "./published-keys.ts";

/**
 * **The front door**: one origin, the issuer, for Workers that are deployed separately. Its own responses are public and cacheable;
 * all other paths belong to another Worker, which decides about methods, CORS and errors. `/` and unknown paths are a page of
 * op-auth for a browser and JSON for any other client. Cost: forwarding 1 hop and no call; health 0; discovery and
 * keys see discovery-endpoint.ts.
 */
export function createApp(isolate: FrontDoorIsolate = createIsolate()) {
  return createAppWith<FrontDoorEnv>(callWorker, isolate);
}

/** Creates the front door with another way of calling the owners (packages/op-compact). */
export function createAppWith<Env extends OwnPathsEnv>(call: CallOwner<Env>, isolate: FrontDoorIsolate) {
  const forward = forwardBy(call);
  const app = new Router<Env>();
  const publishedKeys = new PublishedKeys();
  const discovery = new Discovery(isolate);

  // OIDC Discovery §4 and RFC 8414 §3: one document at two paths.
  for (const path of ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"]) {
    serveEndpoint(app, path, { GET: (context, request) => discovery.respond(context, request) }, { cors: "always" });
  }
  serveEndpoint(
    app,
    "/jwks",
    { GET: (context, request) => jwksEndpoint(context, isolate, publishedKeys, request) },
    { cors: "always" },
  );
  serveEndpoint(app, "/health", { GET: async () => new JsonResponse({ status: "ok" }) });
  serveEndpoint(app, "/.well-known/change-password", {
    GET: async ({ settings }) => redirectToChangePassword(settings),
  });
  // WebAuthn Level 3 §5.11: browsers ask it before a page of another origin uses a passkey of this host.
  serveEndpoint(app, "/.well-known/webauthn", {
    GET: async ({ settings }) => new JsonResponse({ origins: settings.passkeyOrigins }),
  });
  app.serveOthers((request, env, execution) =>
    prefersPage(request) ? forward("AUTH", request, env, execution) : refuseUnknownPath(readSettings(env), request),
  );

  const serve = reportFacts("op", app.fetch);
  return {
    // Before the router, because most requests are forwarded.
    fetch: (request: Request, env: Env, execution: Execution): Response | Promise<Response> => {
      const owner = findOwner(pathOf(request.url));
      return owner === undefined ? serve(request, env, execution) : forward(owner, request, env, execution);
    },
  };
}

/**
 * The page to which password managers send users to change a password.
 *
 * @see https://www.w3.org/TR/change-password-url/
 */
function redirectToChangePassword({ issuer }: Settings): Response {
  const headers = { Location: `${issuer}/account/password`, "Cache-Control": "no-store" };
  return new Response(null, { status: 303, headers });
}
