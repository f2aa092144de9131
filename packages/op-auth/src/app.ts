import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { Hono } from "hono";
import { serveAsset } from "./assets/assets.ts";
import type { AuthEnv } from "./auth-env.ts";
import { authorizeEndpoint } from "./authorize-endpoint.ts";
import { readDeployment } from "./deployment.ts";
import { showConsent, submitConsent } from "./interactions/consent.tsx";
import { showSelectAccount, submitSelectAccount } from "./interactions/select-account.tsx";
import { showSignIn, submitSignIn } from "./interactions/sign-in.tsx";
import { type AuthIsolate, createIsolate } from "./isolate.ts";
import { parEndpoint } from "./par-endpoint.ts";
import { servePage } from "./serve-page.tsx";

/** **The routes of op-auth.** One isolate's memory belongs to one app: tests make as many isolates as they need. */
export function createApp(isolate: AuthIsolate = createIsolate()) {
  const app = new Hono<{ Bindings: AuthEnv }>();
  const authorize = servePageWith(authorizeEndpoint);
  servePage(app, "/authorize", { GET: authorize, POST: authorize });
  serveEndpoint(app, "/par", { POST: (context, request) => parEndpoint(context, isolate, request) });

  servePage(app, "/interaction/:id/sign-in", {
    GET: (context, request, { id = "" }) => showSignIn({ context, isolate, request, id }),
    POST: (context, request, { id = "" }) => submitSignIn({ context, isolate, request, id }),
  });
  servePage(app, "/interaction/:id/select-account", {
    GET: (context, request, { id = "" }) => showSelectAccount({ context, isolate, request, id }),
    POST: (context, request, { id = "" }) => submitSelectAccount({ context, isolate, request, id }),
  });
  servePage(app, "/interaction/:id/consent", {
    GET: (context, request, { id = "" }) => showConsent({ context, isolate, request, id }),
    POST: (context, request, { id = "" }) => submitConsent({ context, isolate, request, id }),
  });
  servePage(app, "/assets/:name", {
    GET: async ({ env }, _, { name = "" }) => serveAsset(readDeployment(env), name) ?? notFound(),
  });
  servePage(app, "*", { GET: async () => notFound(), POST: async () => notFound() });
  return app;

  function servePageWith(endpoint: typeof authorizeEndpoint) {
    return (context: Parameters<typeof endpoint>[0], request: Request) => endpoint(context, isolate, request);
  }
}

function notFound(): never {
  throw new OAuthError("not_found", "no such page");
}
