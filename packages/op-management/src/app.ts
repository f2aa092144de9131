import { Router } from "@edge-op/shared/http/router";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import { adminRoutes } from "./admin/admin-routes.ts";
import { introspectionEndpoint } from "./introspection/introspection-endpoint.ts";
import { createIsolate, type ManagementIsolate } from "./isolate.ts";
import type { ManagementEnv } from "./management-env.ts";
import { revocationEndpoint } from "./revocation/revocation-endpoint.ts";

/** **The routes of op-management.** An app has the memory of one isolate; tests create several. */
export function createApp(isolate: ManagementIsolate = createIsolate()) {
  const app = new Router<ManagementEnv>();
  serveEndpoint(app, "/introspect", { POST: (context, request) => introspectionEndpoint(context, isolate, request) });
  serveEndpoint(
    app,
    "/revoke",
    { POST: (context, request) => revocationEndpoint(context, isolate, request) },
    { cors: "when asked" },
  );
  app.mount("/admin", adminRoutes(isolate));
  return app;
}
