import { registrationBody } from "@edge-op/shared/http/received-request";
import { Router } from "@edge-op/shared/http/router";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";
import type { ManagementEnv } from "@edge-op/workers/env";
import { ReadinessChecks, readinessEndpoint } from "./deployment/readiness-endpoint.ts";
import { introspectionEndpoint } from "./introspection/introspection-endpoint.ts";
import { createIsolate, type ManagementIsolate } from "./isolate.ts";
import { mailEventBody, mailEventsEndpoint } from "./mail/mail-events-endpoint.ts";
import { revocationEndpoint } from "./revocation/revocation-endpoint.ts";

/**
 * **The routes of op-management.** An app uses the memory of one isolate; tests create several. What checks documents by schemas, the admin API, SCIM
 * and the registration of clients, is loaded by its first request.
 */
export function createApp(isolate: ManagementIsolate = createIsolate()) {
  const app = new Router<ManagementEnv>(isolate.reports);
  serveEndpoint(app, "/introspect", { POST: (context, request) => introspectionEndpoint(context, isolate, request) });
  serveEndpoint(
    app,
    "/revoke",
    { POST: (context, request) => revocationEndpoint(context, isolate, request) },
    { cors: "when asked" },
  );
  const registration = onFirstUse(() => import("./registration/registration-endpoint.ts"));
  serveEndpoint(
    app,
    "/register",
    { POST: async (context, request) => (await registration()).registrationEndpoint(context, isolate, request) },
    { cors: "when asked", body: registrationBody },
  );
  const registered = onFirstUse(() => import("./registration/manage-registration.ts"));
  serveEndpoint(
    app,
    "/register/:client_id",
    {
      GET: async (context, request, { client_id: id = "" }) =>
        (await registered()).readRegistration(context, isolate, request, id),
      PUT: async (context, request, { client_id: id = "" }) =>
        (await registered()).replaceRegistration(context, isolate, request, id),
      DELETE: async (context, request, { client_id: id = "" }) =>
        (await registered()).deleteRegistration(context, isolate, request, id),
    },
    { cors: "when asked", body: registrationBody },
  );
  serveEndpoint(
    app,
    "/mail/events",
    { POST: (context, request) => mailEventsEndpoint(context, request) },
    { body: mailEventBody },
  );
  const checks = new ReadinessChecks();
  serveEndpoint(app, "/ready", {
    GET: (context, request) => readinessEndpoint(context, isolate, checks, request),
  });
  const admin = onFirstUse(async () => (await import("./admin-routes.ts")).adminRoutes(isolate));
  for (const tree of ["/admin/*", "/organizations/*"]) {
    app.serve(tree, async (request, env, execution) => (await admin()).fetch(request, env, execution));
  }
  const scim = onFirstUse(async () => (await import("./scim/scim-routes.ts")).scimRoutes(isolate));
  app.serve("/scim/*", async (request, env, execution) => (await scim()).fetch(request, env, execution));
  return app;
}
